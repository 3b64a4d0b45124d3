#include "aggregator/triage/rank_series.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "aggregator/triage/time_unit.h"

namespace logarithm::aggregator::triage {
namespace {

constexpr std::string_view kWaits[] = {"recv", "send",    "reduce", "gather", "scatter",
                                       "sync", "barrier", "comm",   "wait"};

using Values = std::function<std::vector<std::pair<std::int64_t, double>>(const RankFacts&)>;

RankSeries series_of(std::vector<const RankFacts*> ranks, const Values& values_of) {
  RankSeries out;
  out.ranks = std::move(ranks);
  std::map<std::int64_t, Row> rows;
  for (std::size_t i = 0; i < out.ranks.size(); ++i) {
    for (const auto& [iteration, value] : values_of(*out.ranks[i])) {
      Row& row = rows[iteration];
      if (row.values.size() != i) continue;
      row.iteration = iteration;
      row.values.push_back(value);
    }
  }
  for (auto& [iteration, row] : rows) {
    if (row.values.size() == out.ranks.size()) out.rows.push_back(std::move(row));
  }
  return out;
}

// A timer that runs long on the ranks that are early.
bool waits_for_others(const std::string& timer) {
  return std::any_of(std::begin(kWaits), std::end(kWaits),
                     [&](std::string_view word) { return timer.find(word) != std::string::npos; });
}

// Of the stamps of these lines, which may be coarser than others of their ranks.
double grain_of(const std::vector<const RankFacts*>& ranks, const auto& starts_of) {
  std::int64_t grain = 1'000'000'000;
  for (const RankFacts* rank : ranks) {
    for (const IterationStart& start : starts_of(*rank)) {
      while (grain > 1 && start.time % grain != 0) grain /= 1000;
    }
  }
  return static_cast<double>(grain);
}

bool of_most(const std::vector<const RankFacts*>& ranks, const Facts& facts) {
  return 2 * ranks.size() > facts.ranks.size();
}

void add_clocks(const Analysis& analysis, std::vector<const RankFacts*> ranks,
                const auto& starts_of, std::vector<RankSeries>& out) {
  const RankFacts& base = analysis.facts.ranks.front();
  const double grain = grain_of(ranks, starts_of);
  out.push_back(series_of(std::move(ranks), [&](const RankFacts& rank) {
    const auto offset = analysis.clocks.between(rank, base);
    std::vector<std::pair<std::int64_t, double>> values;
    for (const IterationStart& start : starts_of(rank)) {
      values.emplace_back(start.iteration, static_cast<double>(start.time - offset->estimate));
    }
    return values;
  }));
  out.back().grain = grain;
}

void add_lines(const Analysis& analysis, std::vector<RankSeries>& out) {
  const Facts& facts = analysis.facts;
  std::map<TemplateId, std::vector<const RankFacts*>> by_template;
  std::vector<const RankFacts*> all;
  for (const RankFacts& rank : facts.ranks) {
    if (!rank.stamped || !analysis.clocks.between(rank, facts.ranks.front())) continue;
    if (!rank.iterations.empty()) all.push_back(&rank);
    for (const auto& [id, starts] : rank.arrivals) by_template[id].push_back(&rank);
  }
  for (auto& [id, ranks] : by_template) {
    if (!of_most(ranks, facts)) continue;
    const TemplateId wanted = id;
    const auto starts_of = [wanted](const RankFacts& rank) -> const auto& {
      return rank.arrivals.at(wanted);
    };
    add_clocks(analysis, std::move(ranks), starts_of, out);
    out.back().template_id = wanted;
    const auto text = facts.texts.find(wanted);
    if (text != facts.texts.end()) out.back().name = text->second;
  }
  if (!out.empty() || all.empty()) return;
  const auto starts_of = [](const RankFacts& rank) -> const auto& { return rank.iterations; };
  add_clocks(analysis, std::move(all), starts_of, out);
}

void add_told_times(const Facts& facts, std::vector<RankSeries>& out) {
  for (const auto& [timer, times] : facts.told) {
    if (waits_for_others(timer)) continue;
    std::vector<const RankFacts*> ranks;
    for (const RankFacts& rank : facts.ranks) {
      if (times.contains(rank.rank)) ranks.push_back(&rank);
    }
    if (!of_most(ranks, facts)) continue;
    const auto& told = times;
    out.push_back(series_of(std::move(ranks), [&](const RankFacts& rank) {
      std::vector<std::pair<std::int64_t, double>> values;
      for (const ToldTime& one : told.at(rank.rank)) values.emplace_back(one.iteration, one.time);
      return values;
    }));
    out.back().name = timer;
    out.back().of_clocks = false;
    out.back().told = &told;
  }
}

void add_own_times(const Facts& facts, std::vector<RankSeries>& out) {
  std::map<std::string, std::vector<const RankFacts*>> by_metric;
  for (const RankFacts& rank : facts.ranks) {
    for (const auto& [key, metric] : rank.metrics) {
      if (time_unit(key)) by_metric[key].push_back(&rank);
    }
  }
  for (auto& [key, ranks] : by_metric) {
    if (!of_most(ranks, facts)) continue;
    const double unit = *time_unit(key);
    const std::string& wanted = key;
    out.push_back(series_of(std::move(ranks), [&](const RankFacts& rank) {
      std::vector<std::pair<std::int64_t, double>> values;
      for (const Sample& sample : rank.metrics.at(wanted).samples) {
        values.emplace_back(sample.iteration, sample.value * unit);
      }
      return values;
    }));
    out.back().name = key;
    out.back().of_clocks = false;
  }
}

}  // namespace

std::vector<RankSeries> all_series(const Analysis& analysis) {
  std::vector<RankSeries> out;
  add_lines(analysis, out);
  add_told_times(analysis.facts, out);
  add_own_times(analysis.facts, out);
  return out;
}

}  // namespace logarithm::aggregator::triage
