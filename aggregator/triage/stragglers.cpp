#include "aggregator/triage/stragglers.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "aggregator/triage/lateness.h"
#include "aggregator/triage/rank_series.h"

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
Doubt clock_doubt(const Analysis& analysis, const RankSeries& series, std::size_t rank) {
  std::int64_t late = 0, early = 0;
  for (const RankFacts* other : series.ranks) {
    if (const auto offset = analysis.clocks.between(*series.ranks[rank], *other)) {
      late = std::max(late, offset->hi - offset->estimate);
      early = std::max(early, offset->estimate - offset->lo);
    }
  }
  return {static_cast<double>(late), static_cast<double>(early)};
}

void find_late(const Analysis& analysis, const RankSeries& series, double step,
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
void find_stalls(const RankSeries& series, double step, std::vector<Late>& out) {
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

}  // namespace

std::vector<Late> find_stragglers(const Analysis& analysis) {
  std::vector<Late> found;
  if (analysis.facts.ranks.empty()) return found;
  const double step = step_of(analysis.facts);
  find_starved(analysis.facts, step, found);
  for (const RankSeries& series : all_series(analysis)) {
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
