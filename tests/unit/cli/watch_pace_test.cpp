#include "cli/watch_pace.h"

#include <doctest/doctest.h>

#include <string>

namespace logarithm::cli {
namespace {

std::int64_t pause(const std::string& timing) {
  return pause_after({{"Server-Timing", timing}}).count();
}

}  // namespace

TEST_CASE("watch: asks every second, and less often where an answer costs more than 16 ms of CPU") {
  CHECK(pause_after({}).count() == 1'000);
  CHECK(pause("cpu;dur=3.25") == 1'000);
  CHECK(pause("cpu;dur=16") == 1'000);
  CHECK(pause("cpu;dur=40.5") == 2'430);
  CHECK(pause("db;dur=9, cpu;dur=100") == 6'000);
  CHECK(pause("cpu;dur=99999999") == 60'000);
}

TEST_CASE("watch: what a server says of its costs cannot stop it, or make it ask without a pause") {
  for (const char* wrong :
       {"", "cpu", "cpu;dur=", "cpu;dur=x", "cpu;dur=-5", "cpu;dur=nan", "cpu;dur=-inf"}) {
    CAPTURE(wrong);
    CHECK(pause(wrong) == 1'000);
  }
  CHECK(pause("cpu;dur=inf") == 60'000);
}

}  // namespace logarithm::cli
