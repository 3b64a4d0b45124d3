#include "cli/table.h"

#include <doctest/doctest.h>

namespace logarithm::cli {

TEST_CASE("table: columns are as wide as their widest cell, lines end without blanks") {
  CHECK(table({{"JOB", "LINES", "X"}, {"é", "12345", ""}, {"abcd", "7", "y"}}, {1}) ==
        "JOB   LINES  X\n"
        "é     12345\n"
        "abcd      7  y\n");
  CHECK(table({}, {}).empty());
}

TEST_CASE("human_bytes: one digit behind the point from KiB on") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes(5.0 * (1ull << 40)) == "5.0 TiB");
}

}  // namespace logarithm::cli
