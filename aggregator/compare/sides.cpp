#include "aggregator/compare/sides.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_set>

namespace logarithm::aggregator {
namespace {

struct SideDifference {
  std::uint32_t group = 0;
  bool extra = false;
  std::int64_t place = 0;
};

// Two ranks with one number. A line that does not say its iteration may lie one cell further on.
class RankPair {
 public:
  RankPair(const History& run, const RankHistory& a, const History& other, const RankHistory& b)
      : run_(run), other_(other), a_(a), b_(b) {}

  std::vector<SideDifference> compare() {
    auto x = a_.cells.begin();
    auto y = b_.cells.begin();
    while (x != a_.cells.end() || y != b_.cells.end()) {
      const std::int64_t place =
          y == b_.cells.end() || (x != a_.cells.end() && x->place < y->place) ? x->place : y->place;
      std::uint32_t left = 0, right = 0;
      if (x != a_.cells.end() && x->place == place) left = x++->bag;
      if (y != b_.cells.end() && y->place == place) right = y++->bag;
      if (lives(a_, place) && lives(b_, place)) bags(run_.bags[left], other_.bags[right], place);
    }
    std::vector<SideDifference> out;
    for (auto& [group, found] : found_) {
      for (const SideDifference& difference : found) out.push_back(difference);
    }
    return out;
  }

 private:
  // Not where one of them began or ended: a run may begin at another iteration, and end anywhere.
  static bool lives(const RankHistory& rank, std::int64_t place) {
    return !is_iteration(place) || (rank.first <= place && place < rank.last);
  }

  void bags(const Bag& a, const Bag& b, std::int64_t place) {
    auto x = a.begin();
    auto y = b.begin();
    while (x != a.end() || y != b.end()) {
      if (y == b.end() || (x != a.end() && x->first < y->first)) {
        note(x++->first, true, place);
      } else if (x == a.end() || y->first < x->first) {
        note(y++->first, false, place);
      } else {
        // How often a whole life prints something says how long it was.
        if (is_iteration(place) && x->second != y->second) {
          note(x->first, x->second > y->second, place);
        }
        ++x, ++y;
      }
    }
  }

  void note(std::uint32_t group, bool extra, std::int64_t place) {
    std::vector<SideDifference>& found = found_[group];
    const bool says = group < run_.groups.size() && run_.groups[group].says_iteration;
    if (!found.empty() && !says && is_iteration(place) && is_iteration(found.back().place) &&
        found.back().extra != extra && place - found.back().place <= 1) {
      found.pop_back();
      return;
    }
    found.push_back({group, extra, place});
  }

  const History& run_;
  const History& other_;
  const RankHistory& a_;
  const RankHistory& b_;
  std::map<std::uint32_t, std::vector<SideDifference>> found_;
};

double weight_of(const SideDeparture& departure, const History& run) {
  if (departure.kind == DepartureKind::missing) return 0.85;
  if (departure.group >= run.groups.size()) return 0.8;
  const GroupFacts& facts = run.groups[departure.group];
  if (facts.follows) return 0.7;
  if (facts.marked) return 1.0;
  if (facts.severity >= Severity::error) return 0.95;
  return facts.severity == Severity::warning ? 0.9 : 0.8;
}

}  // namespace

std::vector<SideDeparture> compare_sides(const History& run, const History& other) {
  // The same difference on several ranks at once is told once.
  std::map<std::tuple<std::uint32_t, bool>, SideDeparture> found;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const auto same = std::find_if(other.ranks.begin(), other.ranks.end(), [&](const auto& rank) {
      return rank.rank == run.ranks[r].rank;
    });
    if (same == other.ranks.end()) continue;
    for (const SideDifference& difference : RankPair(run, run.ranks[r], other, *same).compare()) {
      const auto [at, fresh] = found.try_emplace({difference.group, difference.extra});
      SideDeparture& departure = at->second;
      if (fresh) {
        departure.kind = difference.extra ? DepartureKind::extra : DepartureKind::missing;
        departure.group = difference.group;
        departure.first = departure.last = difference.place;
      }
      departure.first = std::min(departure.first, difference.place);
      departure.last = std::max(departure.last, difference.place);
      ++departure.times;
      if (departure.ranks.empty() || departure.ranks.back() != r) departure.ranks.push_back(r);
    }
  }
  std::vector<SideDeparture> out;
  for (auto& [key, departure] : found) {
    departure.score = weight_of(departure, run);
    out.push_back(std::move(departure));
  }
  return out;
}

Result<bool> ComparingSides::step(BlockingToken& token, std::array<JobView*, 2> views,
                                  const std::function<bool()>& time_is_up) {
  if (stage_ == Stage::begin) {
    for (std::size_t side = 0; side < 2; ++side) {
      histories_[side] = surveys_[side]->finish();
      LGR_CHECK(groups_.open(token, *views[side]));
    }
    for (std::size_t side = 0; side < 2; ++side) note_unknown(side);
    stage_ = Stage::texts;
  }
  if (stage_ == Stage::texts) {
    for (std::size_t side = 0; side < 2; ++side) {
      LGR_TRY(bool all, groups_.add_lines(token, *views[side], unknown_[side], time_is_up));
      if (!all) return false;
    }
    stage_ = Stage::compare;
  }
  if (stage_ == Stage::compare) {
    groups_.build();
    for (std::size_t side = 0; side < 2; ++side) {
      regroup(histories_[side], surveys_[side]->templates(), groups_.groups(), index_);
      finders_[side] = std::make_unique<LineFinder>(*surveys_[side], groups_.groups());
    }
    compare();
    stage_ = Stage::tell;
  }
  if (stage_ == Stage::tell) {
    for (; told_ < out_.departures.size(); ++told_) {
      if (time_is_up()) return false;
      Told& told = out_.departures[told_];
      // What is missing is shown as the other run printed it.
      const std::size_t side = told.departure.kind == DepartureKind::missing ? 1 : 0;
      LGR_TRY(auto line, finders_[side]->find(token, *views[side], told.rank, told.departure.first,
                                              told.group, ""));
      told.text = line ? line->text : cut_text(groups_.groups().text_of(told.group));
      if (!line) continue;
      told.line_id = line->id;
      told.time = line->time;
      told.severity = line->severity;
      if (!told.iteration) told.iteration = line->iteration;
    }
    for (std::size_t i = 0; i < out_.departures.size(); ++i) {
      const auto when = [&](std::size_t at) {
        const Told& told = out_.departures[at];
        return std::tuple(!told.iteration, told.iteration.value_or(0), told.rank, at);
      };
      if (!out_.first || when(i) < when(*out_.first)) out_.first = i;
    }
    stage_ = Stage::done;
  }
  return true;
}

// Templates that the other run does not print under the same id may be of one group with its own.
void ComparingSides::note_unknown(std::size_t side) {
  std::unordered_set<TemplateId> others;
  for (const TemplateSeen& seen : surveys_[1 - side]->templates()) others.insert(seen.id);
  for (const TemplateSeen& seen : surveys_[side]->templates()) {
    if (others.contains(seen.id) || groups_.knows(seen.id)) continue;
    unknown_[side].push_back({seen.id, surveys_[side]->blocks()[seen.block], seen.offset});
  }
}

void ComparingSides::compare() {
  const History& run = histories_[0];
  for (const RankHistory& rank : run.ranks) out_.ranks.insert(rank.rank);
  for (const SideDeparture& departure : compare_sides(run, histories_[1])) {
    Told told;
    told.departure.kind = departure.kind;
    told.departure.first = departure.first;
    told.departure.last = departure.last;
    told.departure.times = departure.times;
    told.departure.score = departure.score;
    told.rank = run.ranks[departure.ranks.front()].rank;
    if (is_iteration(departure.first)) told.iteration = departure.first;
    told.group = index_.ids[departure.group];
    for (const std::size_t rank : departure.ranks) told.others.insert(run.ranks[rank].rank);
    out_.departures.push_back(std::move(told));
  }
  std::sort(out_.departures.begin(), out_.departures.end(), [](const Told& a, const Told& b) {
    return std::tuple(-a.departure.score, a.departure.first, a.rank, a.departure.kind, a.group) <
           std::tuple(-b.departure.score, b.departure.first, b.rank, b.departure.kind, b.group);
  });
  if (out_.departures.size() > limit_) {
    out_.more_departures = out_.departures.size() - limit_;
    out_.departures.resize(limit_);
  }
}

}  // namespace logarithm::aggregator
