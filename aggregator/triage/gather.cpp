#include "aggregator/triage/gather.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "aggregator/triage/clocks.h"
#include "aggregator/triage/place_ranks.h"
#include "aggregator/triage/told_times.h"

namespace logarithm::aggregator::triage {
namespace {

// A process that was seen so lately lives: agents repeat it every 15 s.
constexpr UnixNanos kSeenLately = 60'000'000'000;
constexpr std::int64_t kStampUnit = 1'000'000'000;  // the coarsest stamp
// Programs write in pieces: a clock that is seen to be ahead is further ahead by this, at most.
constexpr std::int64_t kUnseenAhead = 2'000'000'000;

// What only kernels and machines say, wherever the line was found.
bool is_of_host(const EventFact& event) {
  static const std::set<std::string> kKinds = {"xid",          "nvlink",   "memory",  "pcie",
                                               "node_failure", "host_oom", "network", "gpu_error"};
  return kKinds.contains(event.kind);
}

}  // namespace

Gatherer::Gatherer(JobView& view, JobView* host_view, SurveyCache& cache, GatherOptions options)
    : view_(view), host_view_(host_view), cache_(cache), options_(options) {}

Status Gatherer::plan(BlockingToken& token) {
  facts_.job = view_.job();
  facts_.as_of = options_.now;
  attempts_ = attempts_of(view_);
  facts_.attempt = options_.attempt;
  if (!facts_.attempt && !attempts_.empty()) facts_.attempt = attempts_.back();
  if (options_.attempt &&
      std::find(attempts_.begin(), attempts_.end(), *options_.attempt) == attempts_.end()) {
    return Error(ErrorCode::not_found,
                 "job " + view_.job() + " has no attempt " + std::to_string(*options_.attempt));
  }
  LGR_TRY(AttemptBlocks blocks, blocks_of_attempt(token, view_, facts_.attempt, options_.lines));
  work_ = std::move(blocks.work);
  life_ = blocks.life;
  add_processes();
  return {};
}

// Kernel logs of the ranks' hosts, while the ranks lived.
Status Gatherer::plan_hosts(BlockingToken& token) {
  if (host_view_ == nullptr || !life_.known()) return {};
  std::set<std::string> hosts = ranks_.hosts();
  for (const BlockWork& work : work_) hosts.insert(view_.join_of(work.block)->attributes->host);
  hosts.erase("");
  LGR_TRY(std::vector<BlockWork> work, blocks_of_hosts(token, *host_view_, hosts, life_));
  work_.insert(work_.end(), work.begin(), work.end());
  return {};
}

void Gatherer::add_processes() {
  for (const ProcessFacts& process : view_.snapshot().processes()) {
    if (process.attempt != facts_.attempt) continue;
    const ProcessInfo& info = process.info;
    if (info.world_size) facts_.world_size = info.world_size;
    if (!info.rank) {
      if (info.exit_status) {
        facts_.unranked.push_back({info.host, info.pid, *info.exit_status, info.exit.value_or(0)});
      }
      continue;
    }
    RankFacts& rank = ranks_.facts(*info.rank);
    if (rank.process && rank.process->start > info.start) continue;  // a newer one took its place
    ProcessFact fact;
    fact.pid = info.pid;
    fact.start = info.start;
    fact.exit = info.exit;
    fact.exit_error = info.exit_error;
    fact.exit_status = info.exit_status;
    fact.alive = !info.exit && options_.now - info.last_seen < kSeenLately;
    fact.gpus = info.gpus;
    if (fact.alive) facts_.live = true;
    rank.process = std::move(fact);
    rank.host = info.host;
    rank.local_rank = info.local_rank;
    rank.not_captured = info.not_captured;
  }
}

void Gatherer::infer_ranks() {
  PlaceRanks places;
  for (std::size_t i = 0; i < surveys_.size(); ++i) {
    if (work_[i].of_hosts) continue;
    const StreamJoin& join = *view_.join_of(work_[i].block);
    if (!is_kernel(join)) places.add(join, *surveys_[i]);
  }
  inferred_ = places.infer();
  hosts_ = places.hosts();
  facts_.pids = places.pids(inferred_);
}

std::optional<std::int32_t> Gatherer::rank_of_lines(
    const StreamJoin& join, std::optional<std::int32_t> wrapper_rank) const {
  if (!join.rank_is_fixed && wrapper_rank) return wrapper_rank;
  if (join.rank) return join.rank;
  const auto found = inferred_.find(place_of(join));
  return found == inferred_.end() ? std::nullopt : std::optional(found->second);
}

void Gatherer::note_ignored(const BlockWork& work, const BlockSurvey& survey) {
  if (survey.ignored.empty()) return;
  const JobView& view = work.of_hosts ? *host_view_ : view_;
  const StreamId& stream = view.snapshot().streams()[work.block.stream].id;
  for (const std::uint64_t head : survey.ignored) ignored_.insert({stream, head});
}

void Gatherer::take_events(const BlockWork& work, const BlockSurvey& survey) {
  const JobView& view = work.of_hosts ? *host_view_ : view_;
  const StreamJoin& join = *view.join_of(work.block);
  for (const BlockSurvey::Event& event : survey.events) {
    if (ignored_.contains({event.fact.line.stream, event.head})) continue;
    EventFact fact = event.fact;
    if (work.shared && (fact.when.lo < life_.begin || fact.when.lo > life_.end)) continue;
    fact.host = join.attributes->host;
    const auto rank = rank_of_lines(join, event.wrapper_rank);
    if (!event.stamped) {
      // It was read when it was read, by a clock that may be behind its own.
      const auto ahead = rank ? ranks_.ahead(*rank) : std::nullopt;
      if (ahead) fact.when.hi += *ahead + kUnseenAhead;
      if (event.next) fact.when.hi = std::min(fact.when.hi, *event.next + kStampUnit);
      fact.when.hi = std::max(fact.when.hi, fact.when.lo + 1);
    }
    // What a launcher says of its children is said by none of them.
    if (fact.kind != "child_failed") fact.rank = rank;
    const bool of_host = work.of_hosts || is_kernel(join) || (!fact.rank && is_of_host(fact));
    (of_host ? facts_.kernel : facts_.events).push_back(std::move(fact));
  }
}

void Gatherer::take_lines(const BlockWork& work, const BlockSurvey& survey) {
  const JobView& view = work.of_hosts ? *host_view_ : view_;
  const StreamJoin& join = *view.join_of(work.block);
  if (work.of_hosts || is_kernel(join)) return;
  facts_.texts.insert(survey.texts.begin(), survey.texts.end());
  add_told(facts_.told, survey.told);
  for (const auto& [wrapper_rank, rank] : survey.ranks) {
    if (const auto whose = rank_of_lines(join, wrapper_rank)) ranks_.add(*whose, join, rank);
  }
}

Status Gatherer::read_clocks(BlockingToken& token) {
  if (!options_.clocks || !life_.known()) return {};
  for (const std::string& host : ranks_.hosts()) {
    LGR_TRY(auto history, options_.clocks(token, host));
    if (const auto clock = clock_over(history, life_.from, life_.to)) facts_.clocks[host] = *clock;
  }
  return {};
}

std::optional<std::int64_t> Gatherer::iteration_at(std::int32_t rank, UnixNanos time) const {
  const RankFacts* facts = facts_.find(rank);
  if (facts == nullptr || !facts->stamped) return std::nullopt;
  std::optional<std::int64_t> out;
  for (const IterationStart& start : facts->iterations) {
    if (start.time <= time) out = start.iteration;
  }
  return out;
}

void Gatherer::finish_events() {
  for (auto* events : {&facts_.events, &facts_.kernel}) {
    for (EventFact& event : *events) {
      // What this stamp can tell: a library's may be coarser than the logger's.
      UnixNanos unit = 1'000'000'000;
      while (unit > 1 && event.when.lo % unit != 0) unit /= 1000;
      if (event.when.hi == event.when.lo) event.when.hi += unit;
      if (!event.iteration && event.rank && event.when.hi - event.when.lo <= kStampUnit)
        event.iteration = iteration_at(*event.rank, event.when.lo);
    }
    std::sort(events->begin(), events->end(), [](const EventFact& a, const EventFact& b) {
      return std::tie(a.when.lo, a.line, a.rule) < std::tie(b.when.lo, b.line, b.rule);
    });
  }
}

Result<bool> Gatherer::step(BlockingToken& token, const std::function<bool()>& time_is_up) {
  if (!planned_) {
    LGR_CHECK(plan(token));
    planned_ = true;
  }
  for (;;) {
    while (surveys_.size() < work_.size()) {
      if (time_is_up()) return false;
      const BlockWork& work = work_[surveys_.size()];
      JobView& view = work.of_hosts ? *host_view_ : view_;
      LGR_TRY(auto survey, cache_.get(token, view, work.block, work.depth));
      surveys_.push_back(std::move(survey));
    }
    if (hosts_planned_) break;
    LGR_CHECK(plan_hosts(token));
    hosts_planned_ = true;
  }
  infer_ranks();
  for (std::size_t i = 0; i < work_.size(); ++i) take_lines(work_[i], *surveys_[i]);
  ranks_.settle_hosts(hosts_);
  LGR_CHECK(ranks_.add_history(token, view_));
  LGR_CHECK(read_clocks(token));
  for (std::size_t i = 0; i < work_.size(); ++i) note_ignored(work_[i], *surveys_[i]);
  for (std::size_t i = 0; i < work_.size(); ++i) take_events(work_[i], *surveys_[i]);
  facts_.ranks = ranks_.finish();
  finish_events();
  return true;
}

}  // namespace logarithm::aggregator::triage
