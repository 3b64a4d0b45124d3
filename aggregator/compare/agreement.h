#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aggregator/compare/departures.h"
#include "aggregator/compare/history.h"
#include "aggregator/compare/peers.h"

namespace logarithm::aggregator {

// A value as it was printed, as far as a double still says: digits behind the point and digits that
// count. Zeros at the end are lost, so what a rank prints is the most that any of its values has.
struct Precision {
  int decimals = 0, digits = 0;
  void add(double value);
};

// Equal as far as the shorter of both was printed. NaN equals NaN.
bool values_agree(double a, const Precision& of_a, double b, const Precision& of_b);

// A value that was found equal on the peers, iteration for iteration, as after an all-reduce.
struct Agreed {
  std::uint32_t key = 0;
  std::uint64_t iterations = 0;  // compared, on three ranks or more (two, when there are two)
};

struct Agreement {
  std::vector<Agreed> agreed;  // ascending by key
  std::vector<Departure> departures;
};

// Which values the ranks of a class agree on, and who departs from the majority, where. A value on
// which the ranks differ in many iterations is nobody's business. Pure.
Agreement find_agreement(const History& history, const PeerClass& members);

}  // namespace logarithm::aggregator
