#include "common/async/backoff.h"

#include <doctest/doctest.h>

namespace logarithm {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("Backoff: one attempt in each round, and rounds double up to the cap") {
  Backoff backoff(milliseconds(100), seconds(5), 7);
  std::chrono::nanoseconds round = milliseconds(100), begin{0}, at{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    CAPTURE(attempt);
    at += backoff.next();
    CHECK(at >= begin);
    CHECK(at < begin + round);
    begin += round;
    round = std::min<std::chrono::nanoseconds>(round * 2, seconds(5));
  }
}

TEST_CASE("Backoff: reset() starts again from the base") {
  Backoff backoff(milliseconds(1), seconds(60), 7);
  for (int attempt = 0; attempt < 20; ++attempt) backoff.next();

  backoff.reset();

  CHECK(backoff.next() <= milliseconds(1));
}

TEST_CASE("Backoff: the same seed gives the same delays, another seed others") {
  Backoff first(seconds(1), seconds(60), 1);
  Backoff again(seconds(1), seconds(60), 1);
  Backoff other(seconds(1), seconds(60), 2);
  bool differs = false;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto delay = first.next();
    CHECK(delay == again.next());
    differs = differs || delay != other.next();
  }
  CHECK(differs);
}

TEST_CASE("Backoff: a cap near the largest duration does not overflow") {
  Backoff backoff(std::chrono::hours(24), std::chrono::nanoseconds::max(), 3);
  for (int attempt = 0; attempt < 100; ++attempt) CHECK(backoff.next().count() >= 0);
}

}  // namespace logarithm
