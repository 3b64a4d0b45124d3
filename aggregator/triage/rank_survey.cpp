#include "aggregator/triage/rank_survey.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "aggregator/triage/told_times.h"

namespace logarithm::aggregator::triage {
namespace {

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

}  // namespace

void add_iteration(const Line& line, RankSurvey& out) {
  if (!line.iteration || line.has(line_flag::derived_iteration)) return;
  const bool stamped = !line.has(line_flag::derived_time);
  const auto [at, fresh] = out.iterations.try_emplace(*line.iteration);
  if (fresh || (stamped && !at->second.stamped)) at->second = {line.time, stamped};
}

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

void trim_tail(std::vector<TailLine>& tail) {
  if (tail.size() <= kTailLines) return;
  tail.erase(tail.begin(), tail.end() - static_cast<std::ptrdiff_t>(kTailLines));
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

}  // namespace logarithm::aggregator::triage
