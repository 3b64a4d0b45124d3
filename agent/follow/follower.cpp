#include "agent/follow/follower.h"

#include <algorithm>
#include <utility>

#include "agent/follow/file_identity.h"
#include "agent/follow/tail.h"
#include "common/base/logging.h"

namespace logarithm::agent {
namespace {

constexpr std::chrono::milliseconds kRetryLog{200};

}  // namespace

Follower::Follower(FollowOptions options, SourceFs& fs, const RuleSet& rules, StreamLog& log,
                   StreamOracle& oracle, Clock& clock)
    : options_(std::move(options)),
      fs_(fs),
      log_(log),
      oracle_(oracle),
      clock_(clock),
      parts_{&rules,
             pool_,
             log,
             stats_,
             options_.block_bytes,
             options_.block_age,
             options_.block_age,
             MonotonicTime{},
             mapped_},
      watcher_(options_.inotify && !options_.once),
      open_writers_(options_.proc_root) {
  for (StreamCheckpoint& checkpoint : log.recovered()) {
    // The kernel's log is no file; former boots' are forgotten like other streams that ended.
    if (!checkpoint.closed && !parse_source_state(checkpoint.source).kernel.empty()) continue;
    remember(checkpoint);
    resumed_ = true;
  }
}

Follower::~Follower() = default;

void Follower::process_exited(const std::string& process_key) {
  exited_.insert(process_key);
  for (auto& [base, tail] : tails_) {
    if (!tail->writer) continue;
    const StreamAttributes& attributes = tail->writer->attributes();
    const bool shared = !attributes.run_of.empty();  // perhaps with this one
    if (attributes.process == process_key || shared) tail->changed = true;
  }
}

void Follower::set_rules(const RuleSet& rules) {
  parts_.rules = &rules;
  for (auto& [base, tail] : tails_) {
    if (tail->writer) tail->writer->take_rules();
  }
  for (auto& ending : endings_) ending->take_rules();
  for (auto& refill : refills_) refill->set_rules(rules);
}

Result<StepReport> Follower::step(BlockingToken& token) { return turn(token, false); }

Result<StepReport> Follower::turn(BlockingToken& token, bool look_at_all) {
  now_ = clock_.now();
  wall_ = clock_.wall_now();
  ++turn_;
  begin_round();
  StepReport report;
  const DirWatcher::Events events = watcher_.drain();
  bool all = look_at_all || events.everything || now_ >= next_poll_;
  if (targets_changed_) update_watches();
  note_rotations(token, events.created);
  std::vector<std::string> touched = events.paths;
  touched.insert(touched.end(), events.created.begin(), events.created.end());
  for (const std::string& path : touched) {
    const auto [from, to] = targets_by_path_.equal_range(path);
    for (auto it = from; it != to; ++it) {
      it->second->looked = false;
      if (it->second->tail != nullptr) it->second->tail->changed = true;
    }
  }
  look_at_awake_directories();
  if (all) {
    next_poll_ = now_ + (all_watched_ ? options_.poll : options_.poll_unwatched);
    for (auto& [base, tail] : tails_) {
      tail->changed = true;
      tail->moved = tail->moved || tail->targets.empty();
    }
  }
  if (targets_known_) look_at_targets(token, all);
  targets_changed_ = false;
  if (stalled_) {
    if (now_ < retry_at_) {
      report.wait = std::chrono::duration_cast<std::chrono::milliseconds>(retry_at_ - now_);
      return report;
    }
    stalled_ = false;
    LGR_CHECK(swallow_no_space(commit_all(token, false)));
  }
  if (!stalled_) LGR_CHECK(swallow_no_space(read_closely(token, report)));
  if (!stalled_) LGR_CHECK(swallow_no_space(run_endings(token, report)));
  if (!stalled_) LGR_CHECK(swallow_no_space(read_round(token, report)));
  if (!stalled_) LGR_CHECK(swallow_no_space(commit_all(token, !look_at_all)));
  report.more = open_writers_.step(token, now_) || report.more;
  audit();
  if (!stalled_) LGR_CHECK(swallow_no_space(run_refills(token, report)));
  if (all || writes_.is_flooded()) count_ahead(token);
  end_round();
  if (all) limit_open_files();
  if (!stalled_ && now_ >= next_forget_) {
    next_forget_ = now_ + std::chrono::minutes(1);
    LGR_CHECK(swallow_no_space(forget_old(token)));
  }
  if (stalled_) report.more = false;
  report.wait = wait_time(now_);
  return report;
}

// A full log is a state, not an error: reading pauses and is tried again.
Status Follower::swallow_no_space(Status status) {
  if (status.ok() || status.error().code() != ErrorCode::no_space) return status;
  stalled_ = true;
  ++stats_.no_space;
  retry_at_ = now_ + kRetryLog;
  return {};
}

std::chrono::milliseconds Follower::wait_time(MonotonicTime now) const {
  MonotonicTime due = next_poll_;
  if (stalled_) due = std::min(due, retry_at_);
  for (const auto& [base, tail] : tails_) {
    if (tail->state == Tail::State::asking || tail->original) {
      due = std::min(due, now + kRetryLog);
    }
    if (tail->state != Tail::State::live) continue;
    if (const auto cut = tail->writer->due_at()) {
      due = std::min(due, *cut);
    } else if (tail->writer->unfinished()) {
      due = std::min(due, tail->file.grown_at() + options_.idle_flush);
    }
  }
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(due - now);
  return std::max(wait, std::chrono::milliseconds(1));
}

void Follower::update_watches() {
  std::set<std::string> directories;
  targets_by_path_.clear();
  directories_.clear();
  for (const auto& target : targets_) {
    const std::string directory = directory_of(target->facts.path);
    directories.insert(directory);
    directories_[directory].targets.push_back(target.get());
    targets_by_path_.emplace(target->facts.path, target.get());
  }
  all_watched_ = watcher_.watch(directories);
  for (const auto& [base, tail] : tails_) all_watched_ = all_watched_ && !tail->network;
}

bool Follower::finished() const {
  if (!targets_known_ || !endings_.empty() || stalled_) return false;
  if (resumed_ && !audited()) return false;
  return std::all_of(targets_.begin(), targets_.end(), [](const auto& target) {
    if (target->done) return true;
    return target->tail != nullptr &&
           (target->tail->state == Tail::State::closed || target->tail->state == Tail::State::copy);
  });
}

Status Follower::drain(BlockingToken& token) {
  // Bounded: a file that grows faster than it is read would keep us for ever.
  static constexpr int kTurns = 256;
  draining_ = true;
  for (int i = 0; i < kTurns; ++i) {
    LGR_TRY(const StepReport report, turn(token, true));
    if (stalled_) return Error(ErrorCode::no_space, "the spool is full; the files keep the rest");
    if (!report.more) break;
  }
  return commit_all(token, false);
}

std::vector<wire::StreamLag> Follower::lag() const {
  std::vector<wire::StreamLag> out;
  for (const auto& [base, tail] : tails_) {
    if (tail->state != Tail::State::live) continue;
    wire::StreamLag lag;
    lag.stream = tail->writer->stream();
    lag.job = tail->writer->attributes().job;
    lag.size = std::max(tail->file.known_size(), tail->writer->next_read());
    lag.offset = tail->writer->spooled();
    out.push_back(std::move(lag));
  }
  return out;
}

std::size_t Follower::waiting() const {
  return static_cast<std::size_t>(
      std::count_if(tails_.begin(), tails_.end(), [](const auto& entry) {
        const Tail& tail = *entry.second;
        return tail.state == Tail::State::asking ||
               (tail.state == Tail::State::fresh && tail.original.has_value());
      }));
}

}  // namespace logarithm::agent
