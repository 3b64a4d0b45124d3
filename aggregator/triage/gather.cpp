#include "aggregator/triage/gather.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "aggregator/query/block_rows.h"
#include "aggregator/triage/clocks.h"
#include "aggregator/triage/place_ranks.h"
#include "common/line/utf8.h"

namespace logarithm::aggregator::triage {
namespace {

// A process that was seen so lately lives: agents repeat it every 15 s.
constexpr UnixNanos kSeenLately = 60'000'000'000;
// Streams that state no attempt belong to one while it ran, and so long around it; the kernel
// speaks of a blocked process after two minutes, and of a dead one later, too.
constexpr UnixNanos kAround = 60'000'000'000, kLongAfter = 600'000'000'000;
constexpr std::size_t kTextBytes = 400;
constexpr std::int64_t kStampUnit = 1'000'000'000;  // the coarsest stamp
// Lines of a stream that are looked at one by one, however many streams there are.
constexpr std::uint64_t kFewest = 256;
// Ranks whose iterations from the beginning on tell how long the longest took.
constexpr std::size_t kHistories = 8;
// Programs write in pieces: a clock that is seen to be ahead is further ahead by this, at most.
constexpr std::int64_t kUnseenAhead = 2'000'000'000;

// What only kernels and machines say, wherever the line was found.
bool is_of_host(const EventFact& event) {
  static const std::set<std::string> kKinds = {"xid",          "nvlink",   "memory",  "pcie",
                                               "node_failure", "host_oom", "network", "gpu_error"};
  return kKinds.contains(event.kind);
}

bool is_kernel(const StreamJoin& join) { return join.attributes->name == "kernel"; }

std::string clock_name(const RankFacts& rank) {
  return rank.host.empty() ? std::to_string(rank.rank) : "host " + rank.host;
}

}  // namespace

Gatherer::Gatherer(JobView& view, JobView* host_view, SurveyCache& cache, GatherOptions options)
    : view_(view), host_view_(host_view), cache_(cache), options_(options) {}

void Gatherer::choose_attempt() {
  std::set<std::int32_t> known;
  for (const ProcessFacts& process : view_.snapshot().processes()) {
    if (process.attempt) known.insert(*process.attempt);
  }
  const auto& streams = view_.snapshot().streams();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    for (const StreamJoin& join : view_.joins(i)) {
      if (join.attempt) known.insert(*join.attempt);
    }
  }
  attempts_.assign(known.begin(), known.end());
  facts_.attempt = options_.attempt;
  if (!facts_.attempt && !attempts_.empty()) facts_.attempt = attempts_.back();
}

Status Gatherer::plan(BlockingToken& token) {
  facts_.job = view_.job();
  facts_.as_of = options_.now;
  choose_attempt();
  if (options_.attempt &&
      std::find(attempts_.begin(), attempts_.end(), *options_.attempt) == attempts_.end()) {
    return Error(ErrorCode::not_found,
                 "job " + view_.job() + " has no attempt " + std::to_string(*options_.attempt));
  }
  LGR_TRY(std::vector<BlockRef> blocks, view_.snapshot().candidates(token, BlockFilter()));
  std::vector<Work> shared;
  std::map<std::int32_t, Span> others;
  for (const BlockRef& block : blocks) {
    const StreamJoin* join = view_.join_of(block);
    if (join->attempt && join->attempt != facts_.attempt) {
      const Span whole{block.time_min, block.time_max};
      const auto [at, fresh] = others.emplace(*join->attempt, whole);
      at->second.lo = std::min(at->second.lo, whole.lo);
      at->second.hi = std::max(at->second.hi, whole.hi);
    }
    if (join->attempt == facts_.attempt) {
      work_.push_back({block, false, false});
      if (is_kernel(*join)) continue;
      from_ = std::min(from_, block.time_min);
      to_ = std::max(to_, block.time_max);
    } else if (!join->attempt) {
      shared.push_back({block, false, true});
    }
  }
  add_processes();
  begin_ = from_ == INT64_MAX ? INT64_MIN : from_ - kAround;
  end_ = to_ == INT64_MIN ? INT64_MAX : to_ + kLongAfter;
  for (const auto& [attempt, life] : others) {
    if (attempt < *facts_.attempt) begin_ = std::max(begin_, std::min(from_, life.hi + kAround));
    if (attempt > *facts_.attempt) end_ = std::min(end_, life.lo);
  }
  for (const Work& one : shared) {
    if (one.block.time_max >= begin_ && one.block.time_min <= end_) work_.push_back(one);
  }
  // The newest of each stream come first; over the limit the oldest are left out.
  std::map<std::size_t, std::vector<Work>> of_stream;
  for (const Work& one : work_) of_stream[one.block.stream].push_back(one);
  choose_blocks(std::move(of_stream));
  return {};
}

void Gatherer::choose_blocks(std::map<std::size_t, std::vector<Work>> of_stream) {
  std::uint64_t all = 0, lines = 0;
  for (const Work& one : work_) all += one.block.lines;
  const std::uint64_t quota =
      all <= options_.whole_lines
          ? UINT64_MAX
          : std::max(kFewest, options_.whole_lines / std::max<std::size_t>(1, of_stream.size()));
  std::map<std::size_t, std::uint64_t> looked_at;
  work_.clear();
  for (bool more = true; more && lines < options_.most_lines;) {
    more = false;
    for (auto& [stream, rest] : of_stream) {
      if (rest.empty()) continue;
      more = true;
      Work work = rest.back();
      rest.pop_back();
      lines += work.block.lines;
      // A block's depth depends on nothing but whether the quota is used up, so that surveys can be
      // used again while the stream grows.
      std::uint64_t& before = looked_at[stream];
      if (before >= quota) {
        work.depth = kMarksOnly;
      } else if (work.block.lines > quota) {
        work.depth = static_cast<Depth>(quota);
      }
      before += work.block.lines;
      work_.push_back(std::move(work));
    }
  }
  std::stable_sort(work_.begin(), work_.end(), [](const Work& a, const Work& b) {
    return std::pair(a.block.stream, a.block.first) < std::pair(b.block.stream, b.block.first);
  });
}

// Kernel logs of the ranks' hosts, while the ranks lived.
Status Gatherer::plan_hosts(BlockingToken& token) {
  if (host_view_ == nullptr || to_ < from_) return {};
  std::set<std::string> hosts;
  for (const Work& work : work_) hosts.insert(view_.join_of(work.block)->attributes->host);
  for (const RankFacts& rank : facts_.ranks) hosts.insert(rank.host);
  hosts.erase("");
  BlockFilter filter;
  filter.start = begin_;
  filter.end = end_;
  filter.streams.emplace();
  const auto& streams = host_view_->snapshot().streams();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    for (const StreamJoin& join : host_view_->joins(i)) {
      if (hosts.contains(join.attributes->host)) filter.streams->insert(i);
    }
  }
  if (filter.streams->empty()) return {};
  LGR_TRY(std::vector<BlockRef> blocks, host_view_->snapshot().candidates(token, filter));
  for (const BlockRef& block : blocks) work_.push_back({block, true, true});
  return {};
}

RankFacts& Gatherer::rank_facts(std::int32_t rank) {
  const auto [at, fresh] = positions_.emplace(rank, facts_.ranks.size());
  if (fresh) {
    facts_.ranks.emplace_back();
    facts_.ranks.back().rank = rank;
    facts_.ranks.back().resolution = 1'000'000'000;
  }
  return facts_.ranks[at->second];
}

void Gatherer::add_processes() {
  for (const ProcessFacts& process : view_.snapshot().processes()) {
    if (process.attempt != facts_.attempt) continue;
    const ProcessInfo& info = process.info;
    from_ = std::min(from_, info.start);
    to_ = std::max(to_, info.exit.value_or(info.last_seen));
    if (info.world_size) facts_.world_size = info.world_size;
    if (!info.rank) {
      if (info.exit_status) {
        facts_.unranked.push_back({info.host, info.pid, *info.exit_status, info.exit.value_or(0)});
      }
      continue;
    }
    RankFacts& rank = rank_facts(*info.rank);
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

void Gatherer::take_rank(std::int32_t rank_number, const StreamJoin& join,
                         const RankSurvey& survey) {
  RankFacts& rank = rank_facts(rank_number);
  if (rank.host.empty()) rank.host = join.attributes->host;
  if (!rank.local_rank) rank.local_rank = join.attributes->local_rank;
  if (rank.lines == 0) {
    rank.first_time = survey.first;
    rank.last_time = survey.last;
  }
  rank.first_time = std::min(rank.first_time, survey.first);
  rank.last_time = std::max(rank.last_time, survey.last);
  rank.lines += survey.lines;
  seen_[rank_number] += survey.seen;
  if (survey.seen < survey.lines) {
    left_out_.emplace(rank_number, iteration_axis(*join.attributes));
  }
  stamped_[rank_number] += survey.stamped;
  std::int64_t& ahead = rank_ahead_[rank_number];
  ahead = std::max(ahead, survey.ahead);
  if (survey.stamped > 0) rank.resolution = std::min(rank.resolution, survey.resolution);
  rank.tail.insert(rank.tail.end(), survey.tail.begin(), survey.tail.end());
  auto& iterations = iterations_[rank_number];
  for (const auto& [iteration, start] : survey.iterations) {
    const auto [at, fresh] = iterations.emplace(iteration, start);
    if (fresh) continue;
    // A stamp says more than the time at which a line without one was read.
    const bool better =
        start.stamped != at->second.stamped ? start.stamped : start.time < at->second.time;
    if (better) at->second = start;
  }
  for (const auto& [id, starts] : survey.arrivals) add_arrivals(rank.arrivals[id], starts);
  for (const auto& [key, metric] : survey.metrics) add_metric(rank.metrics[key], metric);
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

void Gatherer::note_ignored(const Work& work, const BlockSurvey& survey) {
  if (survey.ignored.empty()) return;
  const JobView& view = work.of_hosts ? *host_view_ : view_;
  const StreamId& stream = view.snapshot().streams()[work.block.stream].id;
  for (const std::uint64_t head : survey.ignored) ignored_.insert({stream, head});
}

void Gatherer::take_events(const Work& work, const BlockSurvey& survey) {
  const JobView& view = work.of_hosts ? *host_view_ : view_;
  const StreamJoin& join = *view.join_of(work.block);
  for (const BlockSurvey::Event& event : survey.events) {
    if (ignored_.contains({event.fact.line.stream, event.head})) continue;
    EventFact fact = event.fact;
    if (work.shared && (fact.when.lo < begin_ || fact.when.lo > end_)) continue;
    fact.host = join.attributes->host;
    const auto rank = rank_of_lines(join, event.wrapper_rank);
    if (!event.stamped) {
      // It was read when it was read, by a clock that may be behind its own.
      const auto whose = rank ? positions_.find(*rank) : positions_.end();
      const auto ahead = whose == positions_.end()
                             ? ahead_.end()
                             : ahead_.find(clock_name(facts_.ranks[whose->second]));
      if (ahead != ahead_.end()) fact.when.hi += ahead->second + kUnseenAhead;
      if (event.next) fact.when.hi = std::min(fact.when.hi, *event.next + kStampUnit);
      fact.when.hi = std::max(fact.when.hi, fact.when.lo + 1);
    }
    // What a launcher says of its children is said by none of them.
    if (fact.kind != "child_failed") fact.rank = rank;
    const bool of_host = work.of_hosts || is_kernel(join) || (!fact.rank && is_of_host(fact));
    (of_host ? facts_.kernel : facts_.events).push_back(std::move(fact));
  }
}

void Gatherer::take_lines(const Work& work, const BlockSurvey& survey) {
  const JobView& view = work.of_hosts ? *host_view_ : view_;
  const StreamJoin& join = *view.join_of(work.block);
  if (work.of_hosts || is_kernel(join)) return;
  facts_.texts.insert(survey.texts.begin(), survey.texts.end());
  add_told(facts_.told, survey.told);
  for (const auto& [wrapper_rank, rank] : survey.ranks) {
    if (const auto whose = rank_of_lines(join, wrapper_rank)) take_rank(*whose, join, rank);
  }
}

namespace {

// In the order of iterations, each once (it may be logged on two outputs of the rank; the line with
// a stamp counts), and since when it has been NaN.
void settle(Metric& metric) {
  auto& samples = metric.samples;
  std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    return a.iteration != b.iteration ? a.iteration < b.iteration : a.stamped > b.stamped;
  });
  const auto twice = [](const Sample& a, const Sample& b) { return a.iteration == b.iteration; };
  samples.erase(std::unique(samples.begin(), samples.end(), twice), samples.end());
  auto since = samples.end();
  while (since != samples.begin() && std::isnan(std::prev(since)->value)) --since;
  // NaN since before the oldest sample that is kept.
  if (since == samples.begin() && metric.first_nan) return;
  metric.first_nan.reset();
  if (since != samples.end()) metric.first_nan = *since;
}

}  // namespace

void Gatherer::settle_hosts() {
  for (RankFacts& rank : facts_.ranks) {
    const auto host = hosts_.find(rank.rank);
    if (rank.host.empty() && host != hosts_.end()) rank.host = host->second;
    const std::int64_t ahead = rank_ahead_[rank.rank];
    if (ahead <= 0) continue;
    std::int64_t& most = ahead_[clock_name(rank)];
    most = std::max(most, ahead);
  }
}

namespace {

// Between two iterations that were said, with or without a time.
std::int64_t usual_gap(const std::map<std::int64_t, RankSurvey::Start>& iterations) {
  std::vector<std::int64_t> gaps;
  for (auto at = iterations.begin(); at != iterations.end(); ++at) {
    if (at != iterations.begin()) gaps.push_back(at->first - std::prev(at)->first);
  }
  if (gaps.empty()) return 0;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

}  // namespace

// When the first of the ranks said the iterations that were not looked at, from the store's table:
// the longest step of a job is a matter of its whole life.
Status Gatherer::add_history(BlockingToken& token) {
  std::size_t histories = 0;
  for (const auto& [rank, axis] : left_out_) {
    if (axis.empty()) continue;
    if (histories == kHistories) break;
    ++histories;
    auto& iterations = iterations_[rank];
    const bool stamped = std::any_of(iterations.begin(), iterations.end(),
                                     [](const auto& entry) { return entry.second.stamped; });
    LGR_TRY(const auto starts, view_.snapshot().iterations(token, axis));
    for (const IterationStart& start : starts) {
      // Of one that was looked at in part the beginning may lie before that.
      const auto [at, fresh] = iterations.try_emplace(start.iteration);
      if (fresh) at->second = {start.time, stamped};
      at->second.time = std::min(at->second.time, start.time);
    }
  }
  return {};
}

Status Gatherer::read_clocks(BlockingToken& token) {
  if (!options_.clocks || to_ < from_) return {};
  std::set<std::string> asked = {""};
  for (const RankFacts& rank : facts_.ranks) {
    if (!asked.insert(rank.host).second) continue;
    LGR_TRY(auto history, options_.clocks(token, rank.host));
    if (const auto clock = clock_over(history, from_, to_)) facts_.clocks[rank.host] = *clock;
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

void Gatherer::finish() {
  for (RankFacts& rank : facts_.ranks) {
    // Of every stream its newest lines; all together in the order of time.
    std::map<StreamId, std::size_t> left;
    std::stable_sort(rank.tail.begin(), rank.tail.end(), [](const TailLine& a, const TailLine& b) {
      return std::pair(a.line.stream, a.line.offset) > std::pair(b.line.stream, b.line.offset);
    });
    std::erase_if(rank.tail,
                  [&](const TailLine& line) { return ++left[line.line.stream] > kTailLines; });
    std::sort(rank.tail.begin(), rank.tail.end(), [](const TailLine& a, const TailLine& b) {
      return std::tie(a.time, a.line) < std::tie(b.time, b.line);
    });
    const auto& iterations = iterations_[rank.rank];
    const auto said = std::count_if(iterations.begin(), iterations.end(),
                                    [](const auto& entry) { return entry.second.stamped; });
    rank.stamped = iterations.empty() ? 2 * stamped_[rank.rank] > seen_[rank.rank] : said > 0;
    for (const auto& [iteration, start] : iterations) {
      // When a line without a stamp was said nobody knows; clocks are compared by these times.
      if (start.stamped || !rank.stamped) rank.iterations.push_back({start.time, iteration});
    }
    rank.gap = usual_gap(iterations);
    rank.said = iterations.size();
    for (auto& [id, starts] : rank.arrivals) {
      std::stable_sort(starts.begin(), starts.end(),
                       [](const auto& a, const auto& b) { return a.iteration < b.iteration; });
    }
    if (stamped_[rank.rank] == 0) rank.resolution = 1;
    for (auto& [key, metric] : rank.metrics) settle(metric);
  }
  std::sort(facts_.ranks.begin(), facts_.ranks.end(),
            [](const RankFacts& a, const RankFacts& b) { return a.rank < b.rank; });
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
      const Work& work = work_[surveys_.size()];
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
  settle_hosts();
  LGR_CHECK(add_history(token));
  LGR_CHECK(read_clocks(token));
  for (std::size_t i = 0; i < work_.size(); ++i) note_ignored(work_[i], *surveys_[i]);
  for (std::size_t i = 0; i < work_.size(); ++i) take_events(work_[i], *surveys_[i]);
  finish();
  return true;
}

namespace {

Result<std::string> text_of_line(BlockingToken& token, JobView& view, const LineRef& ref) {
  const auto stream = view.find_stream(ref.stream);
  if (!stream) return Error(ErrorCode::not_found, "no such stream");
  LGR_TRY(std::vector<BlockRef> blocks, view.snapshot().blocks_from(token, *stream, ref.offset, 1));
  if (blocks.empty()) return Error(ErrorCode::not_found, "no such line");
  LGR_TRY(std::vector<Line> lines,
          read_lines(token, view, blocks.front(), BlockPart::facts | BlockPart::text));
  for (const Line& line : lines) {
    if (line.offset == ref.offset) return sanitize_utf8(text_of(line)).substr(0, kTextBytes);
  }
  return Error(ErrorCode::not_found, "no such line");
}

}  // namespace

Status fill_texts(BlockingToken& token, JobView& view, JobView* host_view, Verdict& verdict) {
  for (Evidence& evidence : verdict.evidence) {
    if (evidence.lines.empty()) continue;
    auto text = text_of_line(token, view, evidence.lines.front());
    if (!text.ok() && host_view != nullptr) {
      text = text_of_line(token, *host_view, evidence.lines.front());
    }
    if (text.ok()) {
      evidence.text = std::move(*text);
    } else if (text.error().code() != ErrorCode::not_found) {
      return text.error();
    }
  }
  return {};
}

}  // namespace logarithm::aggregator::triage
