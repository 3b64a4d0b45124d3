#include "aggregator/triage/block_survey.h"

#include <algorithm>
#include <cmath>

#include "aggregator/query/block_rows.h"
#include "aggregator/triage/time_unit.h"

namespace logarithm::aggregator::triage {
namespace {

constexpr std::size_t kMaxWord = 300;  // bytes kept of a text of an event

bool speaks_of_checkpoint(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low.find("checkpoint") != std::string::npos || low.find("ckpt") != std::string::npos;
}

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

void add_line(const StreamId& stream, const Line& line, RankSurvey& out) {
  const bool stamped = !line.has(line_flag::derived_time);
  if (out.lines == 0) out.first = out.last = line.time;
  ++out.lines;
  out.first = std::min(out.first, line.time);
  out.last = std::max(out.last, line.time);
  if (stamped) {
    ++out.stamped;
    out.resolution = resolution_of(line.time, out.resolution);
  }
  if (out.tail.size() >= 2 * kTailLines) {
    out.tail.erase(out.tail.begin(), out.tail.end() - static_cast<std::ptrdiff_t>(kTailLines));
  }
  out.tail.push_back(tail_line(stream, line));
  if (!line.iteration) return;
  if (!line.has(line_flag::derived_iteration)) {
    const auto [at, fresh] = out.iterations.try_emplace(*line.iteration);
    if (fresh || (stamped && !at->second.stamped)) at->second = {line.time, stamped};
    if (stamped) add_arrival(line, out);
  }
  for (const MetaPair& pair : line.meta) {
    if (!pair.point && !time_unit(pair.key)) continue;
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

}  // namespace

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

Result<std::shared_ptr<const BlockSurvey>> survey_block(BlockingToken& token, JobView& view,
                                                        const BlockRef& block) {
  auto out = std::make_shared<BlockSurvey>();
  auto lines = read_lines(token, view, block, BlockPart::facts | BlockPart::fields);
  if (!lines.ok()) {
    if (!view.note_damage(block, lines.error())) return lines.error();
    return std::shared_ptr<const BlockSurvey>(std::move(out));
  }
  const StreamId& stream = view.snapshot().streams()[block.stream].id;
  for (const Line& line : *lines) {
    add_line(stream, line, out->ranks[line.wrapper_rank]);
    add_events(stream, line, *out);
    if (line.meta.size() >= 3) add_mention(line, *out);
  }
  for (auto& [rank, survey] : out->ranks) {
    for (const auto& [id, starts] : survey.arrivals) {
      if (out->texts.contains(id)) continue;
      LGR_TRY(auto text, view.snapshot().template_text(token, block.shard, id));
      out->texts.emplace(id, text.value_or(""));
    }
    if (survey.tail.size() > kTailLines) {
      survey.tail.erase(survey.tail.begin(),
                        survey.tail.end() - static_cast<std::ptrdiff_t>(kTailLines));
    }
    for (TailLine& line : survey.tail) {
      LGR_TRY(auto text, view.snapshot().template_text(token, block.shard, line.template_id));
      line.checkpoint = text && speaks_of_checkpoint(*text);
    }
  }
  return std::shared_ptr<const BlockSurvey>(std::move(out));
}

Result<std::shared_ptr<const BlockSurvey>> SurveyCache::get(BlockingToken& token, JobView& view,
                                                            const BlockRef& block) {
  const Key key{view.key(), view.snapshot().streams()[block.stream].id, block.first, block.end};
  {
    std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end()) {
      found->second.used = ++clock_;
      return found->second.survey;
    }
  }
  LGR_TRY(auto survey, survey_block(token, view, block));
  std::lock_guard lock(mutex_);
  entries_[key] = {survey, ++clock_};
  if (entries_.size() > most_) {
    // A quarter goes at once, so that this is rare.
    const std::uint64_t oldest = clock_ - most_ * 3 / 4;
    std::erase_if(entries_, [&](const auto& entry) { return entry.second.used < oldest; });
  }
  return survey;
}

}  // namespace logarithm::aggregator::triage
