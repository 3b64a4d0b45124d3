#include "aggregator/triage/stragglers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "aggregator/triage/time_unit.h"

namespace logarithm::aggregator::triage {
namespace {

constexpr std::size_t kLeast = 5;     // iterations that show it
constexpr std::size_t kWindow = 64;   // of the newest ones
constexpr double kShare = 0.2;        // of a step: less slows nobody much
constexpr double kTimesSpread = 2.0;  // the peers' own spread
// A few iterations are late by chance, too: of so few more is asked, and of fewer still much more.
constexpr std::size_t kLongRun = 16, kLeastOfAll = 3;
constexpr double kShareOfShortRun = 0.5, kShareOfShortest = 1.0;
constexpr double kTimesWorst = 2.0, kTimesWorstOfShortest = 8.0;  // the latest of the peers
// A stall is longer than this many steps; so often makes it one.
constexpr double kStallSteps = 5;
constexpr std::size_t kStalls = 3;

constexpr std::string_view kWaits[] = {"recv", "send",    "reduce", "gather", "scatter",
                                       "sync", "barrier", "comm",   "wait"};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What the ranks did in one iteration: when they said a line, or a time that they printed;
// nanoseconds.
struct Row {
  std::int64_t iteration = 0;
  std::vector<double> values;  // by position in Series::ranks
};

struct Series {
  std::vector<const RankFacts*> ranks;
  std::vector<Row> rows;  // ascending by iteration; all ranks are in each
  std::string name;
  TemplateId template_id = 0;
  bool of_clocks = true;  // times of day, which clocks may shift
  double grain = 0;       // of these: what their stamps cannot tell apart, nanoseconds
  const std::map<std::int32_t, std::vector<ToldTime>>* told = nullptr;  // by one rank of all
};

using Values = std::function<std::vector<std::pair<std::int64_t, double>>(const RankFacts&)>;

Series series_of(std::vector<const RankFacts*> ranks, const Values& values_of) {
  Series out;
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

// Against the median of the others; and how far these differ.
struct Lateness {
  double by = 0, spread = 0;
};
Lateness lateness(const Row& row, std::size_t rank) {
  std::vector<double> others;
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    if (i != rank) others.push_back(row.values[i]);
  }
  const double usual = median(others);
  std::vector<double> away;
  for (const double value : others) away.push_back(std::abs(value - usual));
  const auto latest = *std::max_element(others.begin(), others.end());
  return {row.values[rank] - usual, std::max(median(away), (latest - usual) / 2)};
}

// The lateness of every rank in every row, by rank. Among many ranks one moves no median: they are
// taken over all, once for a row.
constexpr std::size_t kMany = 64;
std::vector<std::vector<Lateness>> all_lateness(const std::vector<Row>& rows) {
  const std::size_t ranks = rows.empty() ? 0 : rows.front().values.size();
  std::vector<std::vector<Lateness>> out(ranks);
  for (const Row& row : rows) {
    if (ranks <= kMany) {
      for (std::size_t i = 0; i < ranks; ++i) out[i].push_back(lateness(row, i));
      continue;
    }
    const double usual = median(row.values);
    std::vector<double> away, latest(2);
    for (const double value : row.values) away.push_back(std::abs(value - usual));
    const double spread = median(std::move(away));
    std::partial_sort_copy(row.values.begin(), row.values.end(), latest.begin(), latest.end(),
                           std::greater<>());
    for (std::size_t i = 0; i < ranks; ++i) {
      const double of_others = latest[row.values[i] == latest[0] ? 1 : 0];
      out[i].push_back({row.values[i] - usual, std::max(spread, (of_others - usual) / 2)});
    }
  }
  return out;
}

// How many of the newest rows show a rank late, without a break of more than one in five. `rows`:
// its lateness; `shift`: by how much it is later than that.
std::size_t run_length(const std::vector<Lateness>& rows, double shift, double step) {
  std::size_t late = 0, length = 0, best = 0;
  for (auto row = rows.rbegin(); row != rows.rend() && length < kWindow; ++row) {
    const double by = row->by + shift;
    ++length;
    const bool is_late = by > kTimesSpread * row->spread && by > kShare * step / 2;
    if (is_late) ++late;
    if (is_late && 5 * late >= 4 * length) best = length;
    if (length > kLeast && 2 * late < length) break;
  }
  return best;
}

// A clock's offset is estimated as if its rank mostly came in time. Who is late most of the time
// looks early before that instead, which its clock's doubt must allow. Less than two grains of its
// stamps is nothing.
double hidden_lateness(const std::vector<Lateness>& rows, double step, double grain) {
  std::vector<double> by;
  for (const Lateness& row : rows) by.push_back(row.by);
  const auto early = by.begin() + static_cast<std::ptrdiff_t>(kLeast - 1);
  std::nth_element(by.begin(), early, by.end());
  const double shift = -*early;
  return shift > kShare * step && shift > 2 * grain ? shift : 0;
}

// How late the latest of the others typically is: on a busy host somebody always is.
double usual_worst(const std::vector<std::vector<Lateness>>& ranks, std::size_t but) {
  std::vector<double> worst;
  for (std::size_t r = 0; r < ranks[but].size(); ++r) {
    double most = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (i != but) most = std::max(most, ranks[i][r].by);
    }
    worst.push_back(most);
  }
  return median(worst);
}

// A timer that runs long on the ranks that are early.
bool waits_for_others(const std::string& timer) {
  return std::any_of(std::begin(kWaits), std::end(kWaits),
                     [&](std::string_view word) { return timer.find(word) != std::string::npos; });
}

// The time of one iteration, of the newest ones; 0 when unknown.
double step_of(const Facts& facts) {
  std::vector<double> steps;
  for (const RankFacts& rank : facts.ranks) {
    if (!rank.stamped) continue;
    const auto& starts = rank.iterations;
    const std::size_t from = starts.size() > kWindow ? starts.size() - kWindow : 1;
    for (std::size_t i = from; i < starts.size(); ++i) {
      const auto iterations = static_cast<double>(starts[i].iteration - starts[i - 1].iteration);
      steps.push_back(static_cast<double>(starts[i].time - starts[i - 1].time) / iterations);
    }
  }
  return median(steps);
}

// How far a clock's offset may explain that its rank looks late, or early.
struct Doubt {
  double late = 0, early = 0;
};
Doubt clock_doubt(const Analysis& analysis, const Series& series, std::size_t rank) {
  std::int64_t late = 0, early = 0;
  for (const RankFacts* other : series.ranks) {
    if (const auto offset = analysis.clocks.between(*series.ranks[rank], *other)) {
      late = std::max(late, offset->hi - offset->estimate);
      early = std::max(early, offset->estimate - offset->lo);
    }
  }
  return {static_cast<double>(late), static_cast<double>(early)};
}

void find_late(const Analysis& analysis, const Series& series, double step,
               std::vector<Late>& out) {
  const std::vector<Row>& rows = series.rows;
  if (series.ranks.size() < 3 || rows.size() <= kLeast) return;
  if (step <= 0) {  // nobody says when an iteration was: what takes time is as long as it is
    if (series.of_clocks) return;
    step = median(rows.back().values);
  }
  const std::vector<std::vector<Lateness>> all = all_lateness(rows);
  for (std::size_t i = 0; i < series.ranks.size(); ++i) {
    const std::vector<Lateness>& own = all[i];
    double shift = 0;
    std::size_t length = run_length(own, shift, step);
    if (length < kLeastOfAll && series.of_clocks) {
      shift = hidden_lateness(own, step, series.grain);
      if (shift > 0 && shift <= clock_doubt(analysis, series, i).early) {
        length = run_length(own, shift, step);
      }
    }
    if (length < kLeastOfAll) continue;
    std::vector<double> by, before;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      (r + length >= rows.size() ? by : before).push_back(own[r].by + shift);
    }
    const double late = median(by);
    const bool shortest = length < kLeast;
    const double share = shortest            ? kShareOfShortest
                         : length < kLongRun ? kShareOfShortRun
                                             : kShare;
    if (late < share * step || (shortest && late <= 2 * series.grain)) continue;
    if (late < (shortest ? kTimesWorstOfShortest : kTimesWorst) * usual_worst(all, i)) continue;
    // A clock that is ahead looks late, too: always as much.
    const bool grew =
        shift > 0 || (before.size() >= kLeast && late - median(before) > kShare * step);
    if (series.of_clocks && !grew && late <= clock_doubt(analysis, series, i).late) continue;
    Late entry;
    entry.rank = series.ranks[i];
    entry.by = std::llround(late);
    entry.share = step > 0 ? late / step : 0;
    entry.since = rows[rows.size() - length].iteration;
    entry.shown_by = series.name;
    entry.template_id = series.template_id;
    if (series.told != nullptr) entry.line = series.told->at(entry.rank->rank).back().line;
    out.push_back(entry);
  }
}

bool speaks_of_data(const std::string& name) {
  for (const char* word : {"data", "batch", "loader", "fetch", "input"}) {
    if (name.find(word) != std::string::npos) return true;
  }
  return false;
}

// Now and then, but for many steps each time: whoever waits for data.
void find_stalls(const Series& series, double step, std::vector<Late>& out) {
  if (series.ranks.size() < 3 || step <= 0 || !speaks_of_data(series.name)) return;
  const std::vector<std::vector<Lateness>> all = all_lateness(series.rows);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<double> stalls;
    std::int64_t since = 0;
    for (std::size_t r = 0; r < series.rows.size(); ++r) {
      const Row& row = series.rows[r];
      const Lateness one = all[i][r];
      if (one.by < kStallSteps * step || one.by < kStallSteps * one.spread) continue;
      if (stalls.empty()) since = row.iteration;
      stalls.push_back(one.by);
    }
    if (stalls.size() < kStalls) continue;
    Late entry;
    entry.rank = series.ranks[i];
    entry.by = std::llround(median(stalls));
    entry.share = median(stalls) / step;
    entry.since = since;
    entry.shown_by = series.name;
    entry.template_id = series.template_id;
    entry.waits_for_data = true;
    out.push_back(entry);
  }
}

// Who says so itself, again and again, and alone.
void find_starved(const Facts& facts, double step, std::vector<Late>& out) {
  std::map<std::int32_t, std::vector<const EventFact*>> starved;
  for (const EventFact& event : facts.events) {
    if (event.kind == "data_stall" && event.rank) starved[*event.rank].push_back(&event);
  }
  if (2 * starved.size() >= facts.ranks.size()) return;
  for (const auto& [rank, events] : starved) {
    if (events.size() < kStalls) continue;
    std::vector<double> waited;
    for (const EventFact* event : events) {
      const auto seconds =
          event->number("waited_s") ? event->number("waited_s") : event->number("wait_s");
      if (seconds) waited.push_back(static_cast<double>(*seconds) * 1e9);
    }
    Late entry;
    entry.rank = facts.find(rank);
    if (entry.rank == nullptr) continue;
    entry.by = std::llround(median(waited));
    entry.share = step > 0 ? median(waited) / step : 0;
    entry.since = events.front()->iteration.value_or(0);
    entry.waits_for_data = true;
    entry.event = events.front();
    out.push_back(entry);
  }
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

std::vector<Series> all_series(const Analysis& analysis) {
  const Facts& facts = analysis.facts;
  std::vector<Series> out;
  std::map<TemplateId, std::vector<const RankFacts*>> by_template;
  std::map<std::string, std::vector<const RankFacts*>> by_metric;
  std::vector<const RankFacts*> all;
  for (const RankFacts& rank : facts.ranks) {
    for (const auto& [key, metric] : rank.metrics) {
      if (time_unit(key)) by_metric[key].push_back(&rank);
    }
    if (!rank.stamped || !analysis.clocks.between(rank, facts.ranks.front())) continue;
    if (!rank.iterations.empty()) all.push_back(&rank);
    for (const auto& [id, starts] : rank.arrivals) by_template[id].push_back(&rank);
  }
  const auto add_clocks = [&](std::vector<const RankFacts*> ranks, const auto& starts_of) {
    const double grain = grain_of(ranks, starts_of);
    out.push_back(series_of(std::move(ranks), [&](const RankFacts& rank) {
      const auto offset = analysis.clocks.between(rank, facts.ranks.front());
      std::vector<std::pair<std::int64_t, double>> values;
      for (const IterationStart& start : starts_of(rank)) {
        values.emplace_back(start.iteration, static_cast<double>(start.time - offset->estimate));
      }
      return values;
    }));
    out.back().grain = grain;
  };
  for (auto& [id, ranks] : by_template) {
    if (2 * ranks.size() <= facts.ranks.size()) continue;
    const TemplateId wanted = id;
    add_clocks(
        std::move(ranks), [wanted](const RankFacts& rank) -> const auto& {
          return rank.arrivals.at(wanted);
        });
    out.back().template_id = wanted;
    const auto text = facts.texts.find(wanted);
    if (text != facts.texts.end()) out.back().name = text->second;
  }
  if (out.empty() && !all.empty()) {
    add_clocks(
        std::move(all), [](const RankFacts& rank) -> const auto& { return rank.iterations; });
  }
  for (const auto& [timer, times] : facts.told) {
    if (waits_for_others(timer)) continue;
    std::vector<const RankFacts*> ranks;
    for (const RankFacts& rank : facts.ranks) {
      if (times.contains(rank.rank)) ranks.push_back(&rank);
    }
    if (2 * ranks.size() <= facts.ranks.size()) continue;
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
  for (auto& [key, ranks] : by_metric) {
    if (2 * ranks.size() <= facts.ranks.size()) continue;
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
  return out;
}

}  // namespace

std::vector<Late> find_stragglers(const Analysis& analysis) {
  std::vector<Late> found;
  if (analysis.facts.ranks.empty()) return found;
  const double step = step_of(analysis.facts);
  find_starved(analysis.facts, step, found);
  for (const Series& series : all_series(analysis)) {
    std::vector<Late> of_series;
    find_stalls(series, step, of_series);
    if (of_series.empty()) find_late(analysis, series, step, of_series);
    // Many that are late are not late: the others are early.
    if (2 * of_series.size() < series.ranks.size()) {
      found.insert(found.end(), of_series.begin(), of_series.end());
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Late& a, const Late& b) {
    return a.by != b.by ? a.by > b.by : a.rank->rank < b.rank->rank;
  });
  std::vector<Late> out;  // the worst of each rank
  for (Late& late : found) {
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const Late& other) { return other.rank == late.rank; });
    if (!known) out.push_back(std::move(late));
  }
  return out;
}

}  // namespace logarithm::aggregator::triage
