#include <algorithm>
#include <utility>

#include "agent/follow/file_identity.h"
#include "agent/follow/tail.h"
#include "common/base/logging.h"
#include "common/model/ranges.h"

// After every connect: does the aggregator still hold what it acknowledged? What it lost is taken
// from the log, else from the file, else told as a gap.
namespace logarithm::agent {
namespace {

constexpr std::size_t kAskedAtOnce = 64;
constexpr std::chrono::seconds kRetrySource{1};

}  // namespace

std::optional<StreamCheckpoint> Follower::checkpoint_of(const StreamId& stream) const {
  const auto tail = tails_.find(stream.base);
  if (tail != tails_.end() && tail->second->writer && tail->second->writer->stream() == stream) {
    return tail->second->writer->checkpoint();
  }
  const auto known = known_.find(stream.base);
  if (known == known_.end()) return std::nullopt;
  const auto generation = known->second.find(stream.generation);
  if (generation == known->second.end()) return std::nullopt;
  return generation->second;
}

void Follower::audit() {
  const std::uint64_t session = oracle_.sessions();
  if (session != audit_.session) {
    for (const Audit::Question& question : audit_.asked) drop_question(question);
    audit_ = {};
    audit_.session = session;
    refills_.clear();  // what of them is in the log is not asked about
    std::set<StreamBase> bases;
    for (const auto& [base, generations] : known_) bases.insert(base);
    for (const auto& [base, tail] : tails_) {
      if (tail->writer) bases.insert(base);
    }
    for (const auto& ending : endings_) bases.insert(ending->stream().base);
    audit_.todo.assign(bases.begin(), bases.end());
  }
  std::erase_if(audit_.asked,
                [this](const Audit::Question& question) { return compared(question); });
  while (audit_.asked.size() < kAskedAtOnce && !audit_.todo.empty()) {
    ask_stored(audit_.todo.back());
    audit_.todo.pop_back();
  }
}

// What is believed is noted before it is asked about, so that an acknowledgement that arrives
// between the aggregator's look and the comparison is not taken for a loss.
void Follower::ask_stored(const StreamBase& base) {
  Audit::Question question;
  question.base = base;
  const auto note = [&](const StreamCheckpoint& checkpoint) {
    const bool noted =
        std::any_of(question.streams.begin(), question.streams.end(),
                    [&](const Audit::Stream& stream) { return stream.id == checkpoint.stream; });
    if (noted) return;
    Audit::Stream stream;
    stream.id = checkpoint.stream;
    stream.closed = checkpoint.closed;
    const KeptStream kept = log_.kept(checkpoint.stream);
    stream.believed = without({{0, checkpoint.position}}, kept.waiting);
    if (stream.believed.empty() && !stream.closed) return;
    question.jobs.insert(checkpoint.attributes.job);
    for (const StreamAttributes& version : kept.versions) question.jobs.insert(version.job);
    question.streams.push_back(std::move(stream));
  };
  if (const auto tail = tails_.find(base); tail != tails_.end() && tail->second->writer) {
    note(tail->second->writer->checkpoint());
  }
  for (const auto& ending : endings_) {
    if (ending->stream().base == base) note(ending->writer().checkpoint());
  }
  if (const auto known = known_.find(base); known != known_.end()) {
    for (const auto& [generation, checkpoint] : known->second) note(checkpoint);
  }
  if (question.streams.empty()) return;
  for (const std::string& job : question.jobs) oracle_.ask(base, job);
  audit_.asked.push_back(std::move(question));
}

void Follower::drop_question(const Audit::Question& question) {
  const auto tail = tails_.find(question.base);
  if (tail != tails_.end() && tail->second->asked) return;  // others look at that answer
  for (const std::string& job : question.jobs) oracle_.drop(question.base, job);
}

bool Follower::compared(const Audit::Question& question) {
  std::vector<wire::StreamState> states;
  for (const std::string& job : question.jobs) {
    std::optional<wire::StreamState> state = oracle_.answer(question.base, job);
    if (!state) return false;
    states.push_back(std::move(*state));
  }
  bool elsewhere = false;  // another agent sends this file now
  for (const wire::StreamState& state : states) elsewhere = elsewhere || state.leased_elsewhere;
  drop_question(question);
  if (elsewhere) return true;
  for (const Audit::Stream& stream : question.streams) {
    std::vector<Range> there;
    bool closed = false;
    for (const wire::StreamState& state : states) {
      for (const StoredGeneration& one : state.generations) {
        if (one.generation != stream.id.generation) continue;
        there.insert(there.end(), one.ranges.begin(), one.ranges.end());
        there.insert(there.end(), one.lost.begin(), one.lost.end());
        closed = closed || one.closed;
      }
    }
    std::vector<Range> lost = without(stream.believed, there);
    if (lost.empty() && (closed || !stream.closed)) continue;
    std::uint64_t bytes = 0;
    for (const Range& range : lost) bytes += range.end - range.first;
    ++stats_.store_losses;
    stats_.store_lost_bytes += bytes;
    LGR_WARN("the aggregator lost what it had acknowledged, sending it again stream={} bytes={}",
             to_text(stream.id), bytes);
    KeptStream kept = log_.kept(stream.id);
    refills_.push_back(
        std::make_unique<Refill>(parts_, stream.id, std::move(lost), std::move(kept.versions)));
    store_lost_ = true;
  }
  return true;
}

bool Follower::audited() const {
  return audit_.session != 0 && audit_.session == oracle_.sessions() && audit_.todo.empty() &&
         audit_.asked.empty() && refills_.empty();
}

Status Follower::run_refills(BlockingToken& token, StepReport& report) {
  if (refills_.empty()) return {};
  std::unique_ptr<Refill> refill = std::move(refills_.front());
  refills_.pop_front();
  Result<bool> done = refill_some(token, *refill, report);
  // One stream whose file cannot be read now does not hold up the others.
  if (!done.ok() && done.error().code() != ErrorCode::no_space) {
    refill->file.reset();
    refill->retry_at = now_ + kRetrySource;
    done = false;
  }
  const bool waits = refill->retry_at > now_;
  if (!done.ok() || !*done) {
    if (waits) {
      refills_.push_back(std::move(refill));
    } else {
      refills_.push_front(std::move(refill));
    }
  }
  report.more = report.more || (!refills_.empty() && refills_.front()->retry_at <= now_);
  return done.ok() ? Status() : Status(done.error());
}

Result<bool> Follower::refill_some(BlockingToken& token, Refill& refill, StepReport& report) {
  if (refill.retry_at > now_) return false;
  // A stream that is just ending has a writer of its own: its checkpoint is not ours to repeat.
  const bool ending = std::any_of(endings_.begin(), endings_.end(), [&](const auto& one) {
    return one->stream() == refill.stream();
  });
  if (ending) {
    refill.retry_at = now_ + kRetrySource;
    return false;
  }
  const std::optional<StreamCheckpoint> newest = checkpoint_of(refill.stream());
  if (!newest) return true;  // forgotten meanwhile
  if (!refill.searched) {
    LGR_TRY(const bool more, log_.revive(token, *newest, refill.lost(), refill.next_segment));
    refill.searched = !more;
    return false;
  }
  if (refill.lost().empty()) {
    if (newest->closed) LGR_CHECK(log_.append(token, *newest, nullptr));
    return true;
  }
  const auto tail = tails_.find(refill.stream().base);
  const bool here = tail != tails_.end();
  // The file may hold another generation by now.
  const bool live =
      here && tail->second->writer != nullptr && tail->second->writer->stream() == refill.stream();
  SourceFile* file = live && tail->second->file.is_open() ? &tail->second->file.file() : nullptr;
  if (file == nullptr && !refill.file) {
    LGR_TRY(refill.file, find_source(token, *newest, here ? tail->second.get() : nullptr));
    // A file that somebody holds open, or that lies elsewhere now, is named by a scan.
    if (!refill.file && !orphans_done_ && !options_.once) {
      refill.retry_at = now_ + kRetrySource;
      return false;
    }
  }
  if (file == nullptr) file = refill.file.get();
  bool readable = file != nullptr;
  if (readable) {
    StreamContext context;
    if (here) context = context_of(*tail->second, newest->attributes);
    context.imported = parse_source_state(newest->source).imported;
    const std::uint64_t before = refill.stats().bytes;
    const Refill::Source source{*file, *newest, std::move(context)};
    Result<bool> read = refill.step(token, source, options_.read_bytes, buffer_, now_, wall_);
    stats_.refilled_bytes += refill.stats().bytes - before;
    report.bytes += refill.stats().bytes - before;
    LGR_TRY(readable, std::move(read));
  }
  if (readable) return false;
  // Cut or gone.
  while (!refill.lost().empty()) {
    const Range range = refill.lost().front();
    const Gap gap{range.first, range.end, "store_lost", wall_};
    if (live) {
      LGR_CHECK(tail->second->writer->append_gap(token, gap));
    } else {
      LGR_CHECK(log_.append_gap(token, *newest, gap));
      ++stats_.gaps;
    }
    refill.lost().erase(refill.lost().begin());
  }
  return false;
}

// The stream's file: under a name it is known by, or rotated beside one. Null when it is certain
// that none of them is it; an Error when that cannot be known now.
Result<std::unique_ptr<SourceFile>> Follower::find_source(BlockingToken& token,
                                                          const StreamCheckpoint& stream,
                                                          const Tail* tail) {
  const SourceState source = parse_source_state(stream.source);
  Names paths = stream.attributes.paths;
  if (!source.path.empty()) paths.push_back(source.path);
  if (tail != nullptr) {
    paths.insert(paths.end(), tail->paths.begin(), tail->paths.end());
    for (const Target* target : tail->targets) paths.push_back(target->facts.open_path);
  }
  if (!source.path.empty()) {
    const std::string directory = directory_of(source.path);
    if (Result<Names> names = fs_.list(token, directory); names.ok()) {
      for (const std::string& name : *names) {
        if (is_rotation_of(name, name_of(source.path))) paths.push_back(directory + "/" + name);
      }
    }
  }
  std::optional<Error> unknown;
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    if (path->empty()) continue;
    Result<std::unique_ptr<SourceFile>> file = fs_.open(token, *path);
    if (!file.ok()) {
      if (file.error().code() != ErrorCode::not_found) unknown = file.error();
      continue;
    }
    LGR_TRY(const FileFacts facts, (*file)->facts(token));
    const bool same =
        source.inode == 0 || (facts.inode == source.inode && facts.birth == source.birth);
    if (same) return file;
  }
  if (unknown && unknown->code() != ErrorCode::invalid) return *unknown;
  return std::unique_ptr<SourceFile>();
}

}  // namespace logarithm::agent
