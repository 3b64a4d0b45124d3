#include "aggregator/triage/block_survey.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "aggregator/triage/checkpoints.h"
#include "aggregator/triage/time_unit.h"

namespace logarithm::aggregator::triage {
namespace {

constexpr std::string_view kRankTime = "rank_time_ms";  // of another rank (rule megatron-rank-time)
constexpr std::string_view kIgnored = "exception_ignored";  // the kind of rule python-ignored
constexpr std::size_t kRoutine = 16;   // lines behind an event that are counted
constexpr std::size_t kMaxWord = 300;  // bytes kept of a text of an event

UnixNanos resolution_of(UnixNanos time, UnixNanos so_far) {
  while (so_far > 1 && time % so_far != 0) so_far /= 1000;
  return so_far;
}

TailLine tail_line(const StreamId& stream, const Line& line) {
  TailLine out;
  out.line = {stream, line.offset};
  out.time = line.time;
  out.observed = line.observed;
  out.iteration = line.iteration;
  out.template_id = line.template_id;
  out.severity = line.severity;
  out.flags = line.flags;
  out.marked = std::any_of(line.events.begin(), line.events.end(),
                           [](const EventMark& mark) { return mark.klass != "advice"; });
  return out;
}

void add_sample(Metric& metric, const Sample& sample) {
  if (std::isnan(sample.value)) {
    if (!metric.first_nan) metric.first_nan = sample;
  } else {
    metric.first_nan.reset();
    metric.finite_before = true;
  }
  metric.samples.push_back(sample);
  // The newest, and twice as many at most meanwhile.
  if (metric.samples.size() >= 2 * kSamples) {
    metric.samples.erase(metric.samples.begin(),
                         metric.samples.end() - static_cast<std::ptrdiff_t>(kSamples));
  }
}

void trim(std::vector<IterationStart>& starts) {
  if (starts.size() < 2 * kArrivals) return;
  starts.erase(starts.begin(), starts.end() - static_cast<std::ptrdiff_t>(kArrivals));
}

void add_arrival(const Line& line, RankSurvey& out) {
  const auto known = out.arrivals.find(line.template_id);
  if (known == out.arrivals.end() && out.arrivals.size() >= kArrivalTemplates) return;
  auto& starts = out.arrivals[line.template_id];
  if (!starts.empty() && starts.back().iteration == *line.iteration) return;
  starts.push_back({line.time, *line.iteration});
  trim(starts);
}

void add_iteration(const Line& line, RankSurvey& out) {
  if (!line.iteration || line.has(line_flag::derived_iteration)) return;
  const bool stamped = !line.has(line_flag::derived_time);
  const auto [at, fresh] = out.iterations.try_emplace(*line.iteration);
  if (fresh || (stamped && !at->second.stamped)) at->second = {line.time, stamped};
}

// Which keys of a block are times, asked once for each.
class TimedKeys {
 public:
  bool contain(const std::string& key) {
    const auto known = std::find_if(known_.begin(), known_.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    if (known != known_.end()) return known->second;
    const bool timed = time_unit(key) || may_be_duration(key);
    if (known_.size() < kKeys) known_.emplace_back(key, timed);
    return timed;
  }

 private:
  static constexpr std::size_t kKeys = 32;
  std::vector<std::pair<std::string, bool>> known_;
};

void add_tail(const StreamId& stream, const Line& line, RankSurvey& out) {
  if (out.tail.size() >= 2 * kTailLines) {
    out.tail.erase(out.tail.begin(), out.tail.end() - static_cast<std::ptrdiff_t>(kTailLines));
  }
  out.tail.push_back(tail_line(stream, line));
}

void add_line(const StreamId& stream, const Line& line, TimedKeys& timed, RankSurvey& out) {
  const bool stamped = !line.has(line_flag::derived_time);
  if (out.lines == 0) out.first = out.last = line.time;
  ++out.lines;
  ++out.seen;
  out.first = std::min(out.first, line.time);
  out.last = std::max(out.last, line.time);
  if (stamped) {
    ++out.stamped;
    out.ahead = std::max(out.ahead, line.time - line.observed);
    out.resolution = resolution_of(line.time, out.resolution);
  }
  if (!line.iteration) return;
  add_iteration(line, out);
  if (stamped && !line.has(line_flag::derived_iteration)) add_arrival(line, out);
  for (const MetaPair& pair : line.meta) {
    if ((!pair.point && !timed.contain(pair.key)) || pair.key == kRankTime) continue;
    Sample sample{*line.iteration, 0, {stream, line.offset}, line.time, stamped, line.template_id};
    if (const auto* real = std::get_if<double>(&pair.value)) {
      sample.value = *real;
    } else if (const auto* whole = std::get_if<std::int64_t>(&pair.value)) {
      sample.value = static_cast<double>(*whole);
    } else {
      continue;
    }
    add_sample(out.metrics[pair.key], sample);
  }
}

const MetaPair* rank_time(const Line& line) {
  const auto found = std::find_if(line.meta.begin(), line.meta.end(),
                                  [](const MetaPair& pair) { return pair.key == kRankTime; });
  return found == line.meta.end() ? nullptr : &*found;
}

void add_mention(const Line& line, BlockSurvey& out) {
  const std::int64_t *pid = nullptr, *rank = nullptr, *local_rank = nullptr;
  for (const MetaPair& pair : line.meta) {
    const auto* whole = std::get_if<std::int64_t>(&pair.value);
    if (pair.key == "pid") pid = whole;
    if (pair.key == "rank") rank = whole;
    if (pair.key == "local_rank") local_rank = whole;
  }
  if (pid == nullptr || rank == nullptr || local_rank == nullptr) return;
  if (out.mentions.size() < kMentions) out.mentions.push_back({*pid, *rank});
}

void add_events(const StreamId& stream, const Line& line, BlockSurvey& out) {
  for (const EventMark& mark : line.events) {
    if (out.events.size() >= kBlockEvents) {
      ++out.events_left_out;
      continue;
    }
    BlockSurvey::Event event;
    event.wrapper_rank = line.wrapper_rank;
    event.head = line.head;
    event.stamped = !line.has(line_flag::derived_time);
    EventFact& fact = event.fact;
    fact.line = {stream, line.offset};
    // A line without a stamp came after the one before it, and was read when it was read.
    fact.when = {line.time, event.stamped ? line.time : std::max(line.time, line.observed)};
    fact.iteration = line.iteration;
    fact.rule = mark.rule;
    fact.kind = mark.kind;
    fact.klass = mark.klass;
    for (const MetaPair& pair : line.meta) {
      if (const auto* whole = std::get_if<std::int64_t>(&pair.value)) {
        fact.numbers[pair.key] = *whole;
      } else if (const auto* text = std::get_if<std::string>(&pair.value)) {
        fact.words[pair.key] = text->substr(0, kMaxWord);
      }
    }
    out.events.push_back(std::move(event));
  }
}

void note_ignored(const std::vector<Line>& lines, BlockSurvey& out) {
  for (const Line& line : lines) {
    for (const EventMark& mark : line.events) {
      if (mark.kind == kIgnored) out.ignored.insert(line.head);
    }
  }
}

// Between which stamps of its own rank an event without one lies. Ranks that share a file may have
// clocks of their own, and then the line before it says nothing. Lines without a wrapper are of
// all.
class Dater {
 public:
  explicit Dater(BlockSurvey& survey) : survey_(survey) {}

  // After the events of `line` were added.
  void add(const Line& line) {
    const auto& writer = line.wrapper_rank;
    if (!line.has(line_flag::derived_time)) {
      speaker_ = writer;
      if (writer) last_[*writer] = line.time;
      std::erase_if(waiting_, [&](std::size_t event) {
        if (!one_clock(survey_.events[event].wrapper_rank, writer)) return false;
        survey_.events[event].next = line.time;
        return true;
      });
      return;
    }
    if (line.events.empty()) return;
    const auto last = one_clock(speaker_, writer) ? last_.end() : last_.find(*writer);
    for (; seen_ < survey_.events.size(); ++seen_) {
      BlockSurvey::Event& event = survey_.events[seen_];
      if (event.stamped) continue;
      if (last != last_.end()) event.fact.when.lo = std::min(event.fact.when.lo, last->second);
      waiting_.push_back(seen_);
    }
  }

 private:
  using Writer = std::optional<std::int32_t>;
  static bool one_clock(const Writer& a, const Writer& b) { return !a || !b || *a == *b; }

  BlockSurvey& survey_;
  std::size_t seen_ = 0;  // events of stamped lines among them
  Writer speaker_;        // of the last stamp
  std::map<std::int32_t, UnixNanos> last_;
  std::vector<std::size_t> waiting_;
};

// How many lines of a writer's routine come behind each event: lines that it said before it as
// well, outside of any report. Where nothing says iterations, this shows that it went on.
void count_routine(const std::vector<Line>& lines, BlockSurvey& out) {
  if (out.events.empty()) return;
  std::set<std::uint64_t> reports;  // heads of records with an event
  for (const Line& line : lines) {
    if (!line.events.empty()) reports.insert(line.head);
  }
  struct Waiting {
    std::size_t event = 0, at = 0;
    std::optional<std::int32_t> writer;
  };
  std::map<std::pair<std::optional<std::int32_t>, TemplateId>, std::size_t> first;
  std::vector<Waiting> waiting;
  std::size_t next = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    for (; next < out.events.size() && out.events[next].fact.line.offset == line.offset; ++next) {
      if (out.events[next].fact.klass != "advice") waiting.push_back({next, i, line.wrapper_rank});
    }
    if (!line.events.empty() || line.has(line_flag::progress)) continue;
    const std::pair key{line.wrapper_rank, line.template_id};
    auto known = first.find(key);
    if (known == first.end()) {
      if (!reports.contains(line.head)) first.emplace(key, i);
      continue;
    }
    std::erase_if(waiting, [&](const Waiting& one) {
      if (one.writer != line.wrapper_rank || known->second >= one.at) return false;
      return ++out.events[one.event].fact.routine >= kRoutine;
    });
  }
}

// Collects what one rank prints of all ranks' times, block by block of such lines.
class Teller {
 public:
  void add(const StreamId& stream, const Line& line) {
    const MetaPair* time = line.meta.empty() ? nullptr : rank_time(line);
    if (time == nullptr) {
      timer_ = line.template_id;
      return;
    }
    const auto* ms = std::get_if<double>(&time->value);
    std::optional<std::int64_t> rank;
    for (const MetaPair& pair : line.meta) {
      const auto* whole = std::get_if<std::int64_t>(&pair.value);
      if (pair.key == "rank" && whole != nullptr) rank = *whole;
    }
    if (ms == nullptr || !rank || *rank < 0 || *rank > INT32_MAX || !line.iteration) return;
    if (!told_.contains(timer_) && told_.size() >= kTimers) return;
    auto& times = told_[timer_][static_cast<std::int32_t>(*rank)];
    times.push_back({*line.iteration, *ms * 1e6, {stream, line.offset}});
    if (times.size() >= 2 * kTold) {
      times.erase(times.begin(), times.end() - static_cast<std::ptrdiff_t>(kTold));
    }
  }

  Status finish(BlockingToken& token, JobView& view, const BlockRef& block, ToldTimes& out) {
    for (auto& [timer, times] : told_) {
      LGR_TRY(auto text, view.snapshot().template_text(token, block.shard, timer));
      out.emplace(text.value_or(""), std::move(times));
    }
    return {};
  }

 private:
  TemplateId timer_ = 0;  // of the line above
  std::map<TemplateId, std::map<std::int32_t, std::vector<ToldTime>>> told_;
};

}  // namespace

void add_told(ToldTimes& into, const ToldTimes& next) {
  for (const auto& [timer, ranks] : next) {
    for (const auto& [rank, times] : ranks) {
      auto& all = into[timer][rank];
      all.insert(all.end(), times.begin(), times.end());
      if (all.size() < 2 * kTold) continue;
      all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kTold));
    }
  }
}

void add_metric(Metric& into, const Metric& next) {
  const bool finite = std::any_of(next.samples.begin(), next.samples.end(),
                                  [](const Sample& sample) { return !std::isnan(sample.value); });
  // NaN to the end goes on only where all of the next part is NaN, too.
  if (!next.samples.empty() && (finite || !into.first_nan)) into.first_nan = next.first_nan;
  into.finite_before = into.finite_before || next.finite_before;
  into.samples.insert(into.samples.end(), next.samples.begin(), next.samples.end());
  if (into.samples.size() > 2 * kSamples) {
    into.samples.erase(into.samples.begin(),
                       into.samples.end() - static_cast<std::ptrdiff_t>(kSamples));
  }
}

void add_arrivals(std::vector<IterationStart>& into, const std::vector<IterationStart>& next) {
  into.insert(into.end(), next.begin(), next.end());
  trim(into);
}

namespace {

// Numbers without a unit in their name: the line says it behind them, or they are no times.
Status name_units(BlockingToken& token, JobView& view, const BlockRef& block,
                  std::map<std::string, Metric>& metrics) {
  for (auto metric = metrics.begin(); metric != metrics.end();) {
    const std::string& key = metric->first;
    if (!may_be_duration(key) || metric->second.samples.empty()) {
      ++metric;
      continue;
    }
    const TemplateId id = metric->second.samples.back().template_id;
    LGR_TRY(auto text, view.snapshot().template_text(token, block.shard, id));
    const std::string_view unit = text ? unit_behind(*text, key) : std::string_view();
    if (!unit.empty()) metrics.emplace(key + std::string(unit), std::move(metric->second));
    metric = metrics.erase(metric);
  }
  return {};
}

// What the header alone says of the lines that were not looked at.
void add_rest(const BlockHeader& header, RankSurvey& out) {
  out.lines = header.lines;
  out.first = header.time.min;
  out.last = header.time.max;
  for (const FieldStats& field : header.fields) {
    if (field.type == MetaType::float64) out.metrics[field.key].finite_before = true;
  }
}

}  // namespace

Result<std::shared_ptr<const BlockSurvey>> survey_block(BlockingToken& token, JobView& view,
                                                        const BlockRef& block, Depth depth) {
  auto out = std::make_shared<BlockSurvey>();
  auto looked_at = look_at(token, view, block, depth);
  if (!looked_at.ok()) {
    if (!view.note_damage(block, looked_at.error())) return looked_at.error();
    return std::shared_ptr<const BlockSurvey>(std::move(out));
  }
  const StreamId& stream = view.snapshot().streams()[block.stream].id;
  Dater dater(*out);
  Teller teller;
  TimedKeys timed;
  const std::vector<Line>& lines = looked_at->lines;
  note_ignored(lines, *out);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    RankSurvey& rank = out->ranks[line.wrapper_rank];
    const bool ignored = out->ignored.contains(line.head);
    if (i >= looked_at->recent) {
      if (!ignored) add_tail(stream, line, rank);
      add_line(stream, line, timed, rank);
      teller.add(stream, line);
    } else {
      add_iteration(line, rank);
    }
    if (!ignored) add_events(stream, line, *out);
    dater.add(line);
    if (line.meta.size() >= 3) add_mention(line, *out);
  }
  count_routine(lines, *out);
  if (!looked_at->whole) add_rest(looked_at->header, out->ranks[std::nullopt]);
  LGR_CHECK(teller.finish(token, view, block, out->told));
  for (auto& [rank, survey] : out->ranks) {
    LGR_CHECK(name_units(token, view, block, survey.metrics));
    for (const auto& [id, starts] : survey.arrivals) {
      if (out->texts.contains(id)) continue;
      LGR_TRY(auto text, view.snapshot().template_text(token, block.shard, id));
      out->texts.emplace(id, text.value_or(""));
    }
    if (survey.tail.size() > kTailLines) {
      survey.tail.erase(survey.tail.begin(),
                        survey.tail.end() - static_cast<std::ptrdiff_t>(kTailLines));
    }
  }
  LGR_CHECK(note_checkpoints(token, view, block, *out));
  return std::shared_ptr<const BlockSurvey>(std::move(out));
}

std::size_t memory_of(const BlockSurvey& survey) {
  constexpr std::size_t kNode = 48;  // of a map, beside what it holds
  std::size_t bytes = sizeof(BlockSurvey) + 256;
  for (const auto& [number, rank] : survey.ranks) {
    bytes += sizeof(RankSurvey) + kNode + rank.tail.capacity() * sizeof(TailLine);
    bytes += rank.iterations.size() * (kNode + sizeof(RankSurvey::Start));
    for (const auto& [id, starts] : rank.arrivals) {
      bytes += kNode + sizeof starts + starts.capacity() * sizeof(IterationStart);
    }
    for (const auto& [key, metric] : rank.metrics) {
      bytes += kNode + sizeof metric + metric.samples.capacity() * sizeof(Sample);
    }
  }
  for (const BlockSurvey::Event& event : survey.events) {
    bytes += sizeof event + event.fact.numbers.size() * (2 * kNode);
    for (const auto& [key, word] : event.fact.words) bytes += 3 * kNode + word.capacity();
  }
  bytes += survey.ignored.size() * kNode;
  for (const auto& [id, text] : survey.texts) bytes += 2 * kNode + text.capacity();
  for (const auto& [timer, ranks] : survey.told) {
    for (const auto& [rank, times] : ranks) bytes += kNode + times.capacity() * sizeof(ToldTime);
  }
  return bytes + survey.mentions.capacity() * sizeof(BlockSurvey::Mention);
}

Result<std::shared_ptr<const BlockSurvey>> SurveyCache::get(BlockingToken& token, JobView& view,
                                                            const BlockRef& block, Depth depth) {
  const Key key{view.key(), view.snapshot().streams()[block.stream].id, block.first, block.end,
                depth};
  {
    std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end()) {
      found->second.used = ++clock_;
      return found->second.survey;
    }
  }
  LGR_TRY(auto survey, survey_block(token, view, block, depth));
  const std::size_t bytes = memory_of(*survey);
  std::lock_guard lock(mutex_);
  const auto [entry, fresh] = entries_.try_emplace(key, Entry{survey, bytes, 0});
  entry->second.used = ++clock_;
  if (fresh) bytes_ += bytes;
  if (bytes_ > most_) make_room();
  return survey;
}

// A quarter goes at once, so that this is rare.
void SurveyCache::make_room() {
  std::vector<std::pair<std::uint64_t, std::size_t>> by_age;
  by_age.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) by_age.emplace_back(entry.used, entry.bytes);
  std::sort(by_age.begin(), by_age.end());
  std::size_t left = bytes_;
  std::uint64_t newest_to_go = 0;
  for (const auto& [used, bytes] : by_age) {
    if (left <= most_ / 4 * 3) break;
    left -= bytes;
    newest_to_go = used;
  }
  std::erase_if(entries_, [&](const auto& entry) { return entry.second.used <= newest_to_go; });
  bytes_ = left;
}

}  // namespace logarithm::aggregator::triage
