#include "cli/plot.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace logarithm::cli {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> rows_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::size_t columns_of(const std::string& row) {
  return static_cast<std::size_t>(std::count_if(row.begin(), row.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

TEST_CASE("plot: a rising line goes from the lower left to the upper right, ends are named") {
  CHECK(plot({{{0, 1}, {9, 2}}}, {25, 2}) ==
        "  2 │           ⢀⣀⣀⠤⠤⠤⠒⠒⠊\n"
        "  1 │⣀⣀⣀⠤⠤⠤⠒⠒⠊⠉⠉⠁\n"
        "    └────────────────────\n"
        "     0                  9\n");
}

TEST_CASE("plot: NaN and infinities break the line and are marked under it") {
  const auto rows = rows_of(plot({{{0, 1}, {1, 2}, {2, kNan}, {3, HUGE_VAL}, {4, 1}}}, {25, 3}));
  REQUIRE(rows.size() == 7);
  CHECK(rows[3] == "NaN │          x");
  CHECK(rows[4] == "inf │              x");
  const auto only = rows_of(plot({{{0, kNan}, {4, kNan}}}, {25, 3}));
  REQUIRE(only.size() == 3);
  CHECK(only[0] == "NaN │x                  x");
  CHECK(plot({}, {80, 5}).empty());
}

TEST_CASE("plot: any numbers fit in the width") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<PlotLine> lines(1 + random() % 4);
    for (PlotLine& line : lines) {
      for (auto n = random() % 30; n > 0; --n) {
        double y = std::ldexp(static_cast<double>(random() % 2000) - 1000,
                              static_cast<int>(random() % 2000) - 1000);
        if (random() % 8 == 0) y = random() % 2 == 0 ? kNan : -HUGE_VAL;
        line.push_back({static_cast<double>(random() % 100000), y});
      }
      std::sort(line.begin(), line.end(),
                [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; });
    }
    const std::size_t columns = 30 + random() % 120;
    for (const std::string& row : rows_of(plot(lines, {columns, 1 + random() % 20}))) {
      CHECK(columns_of(row) <= columns);
    }
  }
}

TEST_CASE("short_number: short, and NaN stays NaN") {
  CHECK(short_number(1.0) == "1");
  CHECK(short_number(0.00123456) == "0.0012346");
  CHECK(short_number(kNan) == "NaN");
  CHECK(short_number(-HUGE_VAL) == "-Infinity");
  CHECK(short_number(1e300) == "1e+300");
}

}  // namespace logarithm::cli
