#include "common/block/int_column.h"

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace logarithm;
using namespace logarithm::block;

namespace {

std::string encoded(const std::vector<std::uint64_t>& values) {
  std::string out;
  encode_ints(values, out);
  return out;
}

// Past some values, or their sum, then one: as if all had been asked for.
void check_skips(const std::string& bytes, const std::vector<std::uint64_t>& values) {
  for (const std::size_t step : {0u, 1u, 3u, 9u, 17u, 40u}) {
    IntCursor skipping{std::string_view(bytes)}, summing{std::string_view(bytes)};
    for (std::size_t at = 0; at + step < values.size(); at += step + 1) {
      skipping.skip(step);
      REQUIRE(skipping.next() == values[at + step]);
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < step; ++i) sum += values[at + i];
      REQUIRE(summing.sum(step) == sum);
      REQUIRE(summing.next() == values[at + step]);
    }
    REQUIRE(skipping.ok());
    REQUIRE(summing.ok());
  }
}

void check_round_trip(const std::vector<std::uint64_t>& values) {
  const std::string bytes = encoded(values);
  IntCursor cursor{std::string_view(bytes)};
  for (const std::uint64_t value : values) REQUIRE(cursor.next() == value);
  REQUIRE(cursor.ok());
  check_skips(bytes, values);
}

}  // namespace

TEST_CASE("IntColumn: values of every kind come back, in every encoding") {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  check_round_trip({5});
  check_round_trip({kMax, 0, 1, kMax / 2, kMax / 2 + 1});
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> values(1 + random() % 50);
    const auto kind = random() % 5;
    std::uint64_t last = random();
    for (auto& value : values) {
      if (kind == 0) value = random();
      if (kind == 1) value = random() % 100;
      if (kind == 2) value = static_cast<std::uint64_t>(-static_cast<std::int64_t>(random() % 50));
      if (kind == 3) value = last += random() % 9;
      if (kind == 4) value = random() % 20 == 0 ? random() : 7;
    }
    check_round_trip(values);
  }
}

TEST_CASE("IntColumn: equal, rarely different and growing values cost next to nothing") {
  std::vector<std::uint64_t> values(10'000, 1);
  CHECK(encoded(values).size() == 2);
  values[777] = 1'000'000;
  CHECK(encoded(values).size() < 12);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1'796'000'000'000'000'000u + 3 * i;
  CHECK(encoded(values).size() < values.size() + 12);
}

TEST_CASE("IntColumn: short, unknown and out-of-range columns are refused") {
  IntCursor none{std::string_view()};
  CHECK_FALSE(none.ok());
  IntCursor unknown{std::string_view("\x09\x01")};
  CHECK_FALSE(unknown.ok());
  IntCursor two{std::string_view("\x01\x05\x06")};
  CHECK(two.next() == 5);
  CHECK(two.next() == 6);
  CHECK(two.ok());
  two.next();
  CHECK_FALSE(two.ok());
  IntCursor big{std::string_view("\x01\x05")};
  CHECK(big.next_below(5) == 0);
  CHECK_FALSE(big.ok());
  IntCursor absent;
  CHECK(absent.next() == 0);
  CHECK(absent.ok());
}
