#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace logarithm::aggregator {

// What a rank says of itself: no difference to a peer that says the same of itself.
struct OwnFacts {
  std::set<std::string> numbers;  // rank, local rank, group rank, pids, as they are printed
  std::string host;
};

// A value that two aligned lines do not share.
struct ValueDifference {
  std::string left, right;
  bool operator==(const ValueDifference&) const = default;
};

// How the bodies of two aligned lines differ in their values: numbers, ids, paths, quoted strings,
// and words where the lines are of one group only. What the rank says of itself, times and
// durations, addresses and ids do not count. Pure.
std::vector<ValueDifference> value_differences(std::string_view left, const OwnFacts& of_left,
                                               std::string_view right, const OwnFacts& of_right);

}  // namespace logarithm::aggregator
