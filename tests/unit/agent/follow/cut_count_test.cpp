#include "agent/follow/cut_count.h"

#include <doctest/doctest.h>

namespace logarithm::agent {
namespace {

// A writer of whole lines that was watched while it wrote `lines` of them, each `writes` writes.
CutCount watched(int lines, std::uint64_t writes = 1) {
  CutCount count;
  count.settled();
  for (int i = 0; i < lines; ++i) {
    count.wrote(writes);
    count.read(20, 1, true);
    count.settled();
  }
  return count;
}

TEST_CASE("Cut count: a truncation that is alone since everything was read loses nothing") {
  CutCount count;
  CHECK_FALSE(count.lost(0, 0, true).has_value());  // nothing was ever settled
  count.read(7, 0, false);                          // half a line
  count.settled();
  count.wrote(1);

  CHECK(count.lost(0, 0, true) == 0);
  CHECK_FALSE(count.lost(5, 0, false).has_value());  // who wrote those, and in how many writes?
}

TEST_CASE("Cut count: writes that neither side explains are lost") {
  for (const std::uint64_t writes : {1, 2, 3}) {
    CAPTURE(writes);
    CutCount count = watched(5, writes);
    count.wrote(1 + 4 * writes);

    CHECK(count.lost(80, 4, true) == 0);
    CHECK(count.lost(60, 3, true) == 1);
    CHECK(count.lost(0, 0, true) == 4);
    CHECK_FALSE(count.lost(100, 5, true).has_value());  // more than was written
    CHECK_FALSE(count.lost(85, 4, false).has_value());  // a line is under way
  }
}

TEST_CASE("Cut count: what was read since all was settled is explained too") {
  CutCount count = watched(4);
  count.wrote(3);
  count.read(40, 2, true);

  CHECK(count.lost(0, 0, true) == 0);
  count.wrote(1);
  CHECK(count.lost(0, 0, true) == 1);
}

TEST_CASE("Cut count: nothing is concluded from too few lines, or an uneven writer") {
  CutCount few = watched(2);
  few.wrote(3);
  CHECK_FALSE(few.lost(0, 0, true).has_value());

  CutCount uneven = watched(10);
  uneven.wrote(1);
  uneven.read(60, 3, true);  // three lines in one write
  uneven.settled();
  uneven.wrote(2);
  CHECK_FALSE(uneven.lost(0, 0, true).has_value());
}

TEST_CASE("Cut count: an event that comes a moment after its bytes proves nothing") {
  CutCount count = watched(5);
  count.read(20, 1, true);
  count.settled();
  count.wrote(2);  // the late one, and the truncation

  CHECK_FALSE(count.lost(0, 0, true).has_value());
}

TEST_CASE("Cut count: lost events void the count") {
  CutCount count = watched(5);
  count.wrote(1);
  count.lost_events();
  CHECK_FALSE(count.lost(0, 0, true).has_value());
}

}  // namespace
}  // namespace logarithm::agent
