#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "aggregator/compare/history.h"
#include "aggregator/compare/peers.h"

namespace logarithm::aggregator {

enum class DepartureKind : std::uint8_t { missing, extra, value };
std::string_view to_string(DepartureKind kind);

// One rank does what its peers do not; the same thing again and again is one departure.
struct Departure {
  std::size_t rank = 0;  // index into History::ranks
  DepartureKind kind = DepartureKind::extra;
  std::uint32_t group = 0;
  std::int64_t first = 0, last = 0;  // places: see history.h
  std::uint64_t times = 0;           // places where it departs
  double score = 0;                  // in (0, 1]: how unusual
  bool ended = false;                // missing because the rank printed nothing after `first`
  // Of values.
  std::uint32_t key = 0;
  double value = 0, expected = 0;
};

// What most ranks of a class print at one place.
struct Expected {
  std::int64_t place = 0;
  std::uint32_t bag = 0;
  std::uint32_t ranks = 0;  // that take part
};

// What a class agrees on, and who departs. Pure; about linear in the number of cells.
struct ClassFindings {
  std::vector<Expected> consensus;  // ascending by place; only where there is anything
  std::vector<Departure> departures;
};
// `bags`: of the history, which gets new ones. `members` must not be empty.
ClassFindings compare_class(History& history, const Peers& peers, const PeerClass& members);

}  // namespace logarithm::aggregator
