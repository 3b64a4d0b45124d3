#include "aggregator/compare/peers.h"

#include <algorithm>
#include <map>

namespace logarithm::aggregator {
namespace {

struct Rhythm {
  std::int64_t first = 0, last = 0;
  std::uint64_t times = 0;
  std::int64_t least_gap = 0, most_gap = 0;
};

bool is_steady(const Rhythm& rhythm, const RankHistory& rank, std::size_t iterations) {
  if (rhythm.times < 3) return false;
  const std::int64_t before = rhythm.first - rank.first, after = rank.last - rhythm.last;
  const std::int64_t tenth = (rank.last - rank.first) / 10 + 1;
  const bool often = rhythm.times * 2 >= iterations && before <= tenth && after <= tenth;
  // One beat may be left out, unless there are so few that chance would have a rhythm as well.
  const std::int64_t slack = rhythm.times >= 5 ? 2 : 1;
  const bool even = rhythm.most_gap <= slack * rhythm.least_gap && before <= rhythm.most_gap &&
                    after <= rhythm.most_gap;
  return often || even;
}

std::size_t distance(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  std::vector<std::uint32_t> differing;
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(),
                                std::back_inserter(differing));
  return differing.size();
}

// By rank: the steady groups that tell classes apart.
std::vector<std::vector<std::uint32_t>> marks_of(const std::vector<Habits>& habits) {
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> counts;  // steady, now and then
  for (const Habits& rank : habits) {
    for (const std::uint32_t group : rank.steady) ++counts[group].first;
    for (const std::uint32_t group : rank.now_and_then) ++counts[group].second;
  }
  std::vector<std::vector<std::uint32_t>> out(habits.size());
  for (std::size_t r = 0; r < habits.size(); ++r) {
    for (const std::uint32_t group : habits[r].steady) {
      const auto& [steady, other] = counts[group];
      if (other * 4 <= steady + other) out[r].push_back(group);
    }
  }
  return out;
}

}  // namespace

Habits habits_of(const RankHistory& rank, const BagBook& bags) {
  std::map<std::uint32_t, Rhythm> rhythms;
  std::size_t iterations = 0;
  for (const Cell& cell : rank.cells) {
    if (!is_iteration(cell.place)) continue;
    ++iterations;
    for (const auto& [group, count] : bags[cell.bag]) {
      Rhythm& rhythm = rhythms[group];
      if (rhythm.times++ == 0) {
        rhythm.first = cell.place;
      } else {
        const std::int64_t gap = cell.place - rhythm.last;
        rhythm.least_gap = rhythm.times == 2 ? gap : std::min(rhythm.least_gap, gap);
        rhythm.most_gap = std::max(rhythm.most_gap, gap);
      }
      rhythm.last = cell.place;
    }
  }
  Habits habits;
  for (const auto& [group, rhythm] : rhythms) {
    if (is_steady(rhythm, rank, iterations)) {
      habits.steady.push_back(group);
    } else if (rhythm.times >= 3) {
      habits.now_and_then.push_back(group);
    }
  }
  return habits;
}

bool Peers::is_habit(std::size_t rank, std::uint32_t group) const {
  const auto& steady = habits[rank].steady;
  return std::binary_search(steady.begin(), steady.end(), group);
}

Peers peers_by_habits(const History& history) {
  Peers out;
  std::map<std::vector<std::uint32_t>, std::vector<std::size_t>> same;
  for (std::size_t r = 0; r < history.ranks.size(); ++r) {
    out.habits.push_back(habits_of(history.ranks[r], history.bags));
  }
  const auto marks = marks_of(out.habits);
  for (std::size_t r = 0; r < marks.size(); ++r) same[marks[r]].push_back(r);
  std::vector<std::size_t> alone;
  for (auto& [mark, members] : same) {
    if (members.size() > 1) {
      out.classes.push_back({std::move(members), {}, false});
    } else {
      alone.push_back(members.front());
    }
  }
  // Nobody has peers: all are each other's.
  if (out.classes.empty() && !alone.empty()) {
    std::sort(alone.begin(), alone.end());
    out.classes.push_back({std::move(alone), {}, true});
    return out;
  }
  std::sort(out.classes.begin(), out.classes.end(), [](const PeerClass& a, const PeerClass& b) {
    return a.members.front() < b.members.front();
  });
  std::sort(alone.begin(), alone.end());
  for (const std::size_t rank : alone) {
    PeerClass* nearest = nullptr;
    std::size_t best = 0;
    for (PeerClass& peers : out.classes) {
      const std::size_t away = distance(marks[rank], marks[peers.members.front()]);
      const bool nearer = nearest == nullptr || away < best ||
                          (away == best && peers.members.size() > nearest->members.size());
      if (!nearer) continue;
      nearest = &peers;
      best = away;
    }
    nearest->guests.push_back(rank);
  }
  return out;
}

Peers peers_given(const History& history, const std::vector<std::set<std::int32_t>>& classes) {
  Peers out;
  std::vector<PeerClass> made(classes.size() + 1);
  for (std::size_t r = 0; r < history.ranks.size(); ++r) {
    out.habits.push_back(habits_of(history.ranks[r], history.bags));
    std::size_t in = 0;
    while (in < classes.size() && !classes[in].contains(history.ranks[r].rank)) ++in;
    made[in].members.push_back(r);
  }
  for (PeerClass& peers : made) {
    if (!peers.members.empty()) out.classes.push_back(std::move(peers));
  }
  return out;
}

}  // namespace logarithm::aggregator
