#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "aggregator/compare/history.h"

namespace logarithm::aggregator {

// Ranks that should print the same, and what one of them may print beside.
struct PeerClass {
  std::vector<std::size_t> members;  // indices into History::ranks, ascending
  // Ranks that have no peers of their own and are compared with these.
  std::vector<std::size_t> guests;
  // All of them are alone with their habits: those are nobody's departures.
  bool strangers = false;
};

// Groups by how a rank prints them over its iterations; each ascending.
struct Habits {
  // In at least every second iteration, or in a steady rhythm, from the beginning to the end.
  std::vector<std::uint32_t> steady;
  std::vector<std::uint32_t> now_and_then;  // three times and more, but not so
};
Habits habits_of(const RankHistory& rank, const BagBook& bags);

struct Peers {
  std::vector<PeerClass> classes;  // those with the least rank first
  std::vector<Habits> habits;      // by rank
  // The rank prints `group` steadily.
  bool is_habit(std::size_t rank, std::uint32_t group) const;
};

// Clusters ranks by their habits: pipeline stages and the rank that logs for all print other lines,
// and rightly so. A rank that is alone with its habits is a guest of the class that is nearest.
// Groups that many ranks print now and then say nothing about who is whose peer.
Peers peers_by_habits(const History& history);
// The classes that somebody stated; ranks in none of them are their own class.
Peers peers_given(const History& history, const std::vector<std::set<std::int32_t>>& classes);

}  // namespace logarithm::aggregator
