#include "aggregator/tail/unsent.h"

#include <doctest/doctest.h>

namespace logarithm::aggregator {
namespace {

TEST_CASE("Unsent: what was sent is taken out, and the end stays open") {
  Unsent unsent = all_unsent();

  subtract(unsent, Range{0, 10});
  CHECK(unsent == Unsent{{10, kNoEnd}});
  subtract(unsent, Range{20, 30});
  CHECK(unsent == Unsent{{10, 20}, {30, kNoEnd}});
  subtract(unsent, Range{5, 15});
  CHECK(unsent == Unsent{{15, 20}, {30, kNoEnd}});
  subtract(unsent, Range{12, 40});
  CHECK(unsent == Unsent{{40, kNoEnd}});
  subtract(unsent, Range{50, 50});
  CHECK(unsent == Unsent{{40, kNoEnd}});
  subtract(unsent, Range{0, kNoEnd});
  REQUIRE(unsent.size() == 1);
  CHECK(unsent.back().end == kNoEnd);
}

TEST_CASE("Unsent: holes between stored ranges are what a tail of new lines still waits for") {
  CHECK(all_but({}) == Unsent{{0, kNoEnd}});
  CHECK(all_but({{0, 7}}) == Unsent{{7, kNoEnd}});
  CHECK(all_but({{3, 7}, {9, 12}}) == Unsent{{0, 3}, {7, 9}, {12, kNoEnd}});
}

TEST_CASE("Unsent: pending counts the stored part of what is unsent") {
  CHECK(pending(all_unsent(), {}) == 0);
  CHECK(pending(all_unsent(), {{5, 8}, {10, 20}}) == 13);
  CHECK(pending(Unsent{{0, 6}, {15, kNoEnd}}, {{5, 8}, {10, 20}}) == 6);
  CHECK(pending(Unsent{{20, kNoEnd}}, {{5, 8}, {10, 20}}) == 0);
}

TEST_CASE("Unsent: a split makes two ranges of one, and nothing at a border") {
  Unsent unsent = all_unsent();
  split(unsent, 10);
  CHECK(unsent == Unsent{{0, 10}, {10, kNoEnd}});
  split(unsent, 10);
  split(unsent, 0);
  CHECK(unsent.size() == 2);
}

}  // namespace
}  // namespace logarithm::aggregator
