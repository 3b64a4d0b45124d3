#include "aggregator/store/range_set.h"

#include <doctest/doctest.h>

#include <random>

namespace logarithm::aggregator {
namespace {

using Kind = Admission::Kind;

TEST_CASE("Ranges: touching and overlapping ranges become one") {
  std::vector<Range> ranges;
  add_range(ranges, {10, 20});
  add_range(ranges, {30, 40});
  CHECK(ranges == std::vector<Range>{{10, 20}, {30, 40}});
  add_range(ranges, {20, 30});
  CHECK(ranges == std::vector<Range>{{10, 40}});
  add_range(ranges, {5, 5});
  CHECK(ranges.size() == 1);
}

TEST_CASE("Ranges: random additions agree with a bitmap") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<bool> bits(64);
    std::vector<Range> ranges;
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t first = random() % 60, end = first + random() % 8;
      add_range(ranges, {first, end});
      for (std::uint64_t o = first; o < end && o < 64; ++o) bits[o] = true;
    }
    for (std::size_t i = 1; i < ranges.size(); ++i) REQUIRE(ranges[i - 1].end < ranges[i].first);
    for (std::uint64_t o = 0; o < 64; ++o) {
      REQUIRE(range_holding(ranges, o).has_value() == bits[o]);
    }
  }
}

TEST_CASE("Admission: new, known, begun and cut blocks are told apart") {
  const std::vector<Range> stored{{10, 20}, {40, 50}};
  CHECK(admit(stored, {20, 40}).kind == Kind::store);
  CHECK(admit(stored, {0, 10}).kind == Kind::store);
  CHECK(admit(stored, {10, 20}).kind == Kind::known);
  CHECK(admit(stored, {12, 15}).kind == Kind::known);

  const Admission begun = admit(stored, {15, 30});
  CHECK(begun.kind == Kind::overlap);
  CHECK(begun.resume_at == 20);

  const Admission cut = admit(stored, {20, 60});
  CHECK(cut.kind == Kind::cut);
  CHECK(cut.cut_at == 40);
  CHECK(cut.resume_at == 50);
}

}  // namespace
}  // namespace logarithm::aggregator
