#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/line/line.h"

// What ranks printed, as it is compared: per rank and iteration how often each group, and the
// numbers. No text, no order within an iteration (see README.md).
namespace logarithm::aggregator {

// The place of lines without an iteration: those before their stream's first one, and those of
// streams that say none (their time alone would tell, and that is not exact).
inline constexpr std::int64_t kOutside = std::numeric_limits<std::int64_t>::min();
constexpr bool is_iteration(std::int64_t place) { return place != kOutside; }

// (group, how often), ascending by group. Groups and templates are small indices here.
using Bag = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// Distinct bags: there are few, since ranks repeat themselves and each other. Bag 0 is empty.
class BagBook {
 public:
  BagBook();
  std::uint32_t intern(Bag bag);
  const Bag& operator[](std::uint32_t id) const { return bags_[id]; }
  std::size_t size() const { return bags_.size(); }

 private:
  std::vector<Bag> bags_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};
Bag sum_of(const Bag& a, const Bag& b);
std::uint32_t count_of(const Bag& bag, std::uint32_t group);

struct Cell {
  std::int64_t place = 0;  // iteration, or kOutside
  std::uint32_t bag = 0;
};

struct Value {
  std::int64_t iteration = 0;
  double value = 0;
};

struct RankHistory {
  std::int32_t rank = 0;
  bool ended = false;       // nothing more can come
  bool special = false;     // rightly prints more: rank 0, the last one, the first of a host
  std::vector<Cell> cells;  // ascending, each place once
  std::vector<std::vector<Value>> values;  // by key; ascending, the first of each iteration
  // The iterations that its cells span; nullopt-like first > last when there are none.
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = kOutside;
};

struct GroupFacts {
  Severity severity = Severity::unset;  // the worst of its lines
  bool marked = false;                  // a rule marked one of its lines as an event
  bool follows = false;         // as one that follows from another: cascade, teardown, advice
  bool says_iteration = false;  // one of its lines states its own iteration
  std::uint64_t lines = 0;
  std::uint64_t place_sum = 0;  // of the lines' places in their iteration
};

struct History {
  std::vector<RankHistory> ranks;  // ascending
  BagBook bags;
  std::vector<GroupFacts> groups;
  std::vector<std::string> keys;  // of the values
  // Indices of keys whose lines say a unit of what each rank measures for itself.
  std::set<std::uint32_t> own_measures;
};

}  // namespace logarithm::aggregator
