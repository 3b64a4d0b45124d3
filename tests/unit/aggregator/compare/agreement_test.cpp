#include "aggregator/compare/agreement.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace logarithm::aggregator {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// One key; values[rank][iteration].
struct Values {
  History history;
  PeerClass all;
  explicit Values(const std::vector<std::vector<double>>& values, std::string key = "loss") {
    history.keys = {std::move(key)};
    for (std::size_t r = 0; r < values.size(); ++r) {
      RankHistory rank;
      rank.rank = static_cast<std::int32_t>(r);
      rank.values.resize(1);
      for (std::size_t i = 0; i < values[r].size(); ++i) {
        rank.values[0].push_back({static_cast<std::int64_t>(i), values[r][i]});
      }
      history.ranks.push_back(std::move(rank));
      all.members.push_back(r);
    }
  }
  Agreement find() const { return find_agreement(history, all); }
};

std::vector<std::vector<double>> equal(std::size_t ranks, std::size_t iterations) {
  std::vector<double> one;
  for (std::size_t i = 0; i < iterations; ++i)
    one.push_back(2.5 + 0.0137 * static_cast<double>(i * i % 97));
  return std::vector<std::vector<double>>(ranks, one);
}

Precision precision(std::initializer_list<double> values) {
  Precision out;
  for (const double value : values) out.add(value);
  return out;
}

}  // namespace

TEST_CASE(
    "find_agreement: the rank whose loss departs is named, with the iteration and both values") {
  auto values = equal(8, 50);
  values[5][17] += 0.25;
  const Agreement found = Values(values).find();
  REQUIRE(found.agreed.size() == 1);
  CHECK(found.agreed[0].iterations == 50);
  REQUIRE(found.departures.size() == 1);
  CHECK(found.departures[0].rank == 5);
  CHECK(found.departures[0].first == 17);
  CHECK(found.departures[0].times == 1);
  CHECK(found.departures[0].value == doctest::Approx(values[5][17]));
  CHECK(found.departures[0].expected == values[0][17]);
}

TEST_CASE("find_agreement: NaN on one rank departs, NaN on all agrees") {
  auto values = equal(4, 20);
  for (std::size_t i = 12; i < 20; ++i) values[2][i] = kNan;
  const Agreement found = Values(values).find();
  REQUIRE(found.departures.size() == 1);
  CHECK(found.departures[0].rank == 2);
  CHECK(found.departures[0].first == 12);
  CHECK(found.departures[0].last == 19);
  CHECK(std::isnan(found.departures[0].value));

  for (auto& rank : values) rank[3] = kNan;
  for (std::size_t i = 12; i < 20; ++i) values[2][i] = values[0][i];
  CHECK(Values(values).find().departures.empty());
}

TEST_CASE(
    "find_agreement: a rank that goes wrong and stays so is found, though it differs mostly") {
  auto values = equal(4, 100);
  for (std::size_t i = 5; i < 100; ++i) values[1][i] += 0.001 * static_cast<double>(i);
  const Agreement found = Values(values).find();
  REQUIRE(found.departures.size() == 1);
  CHECK(found.departures[0].rank == 1);
  CHECK(found.departures[0].first == 5);
}

TEST_CASE("find_agreement: values that each rank has for itself are nobody's business") {
  auto values = equal(8, 40);
  for (std::size_t r = 0; r < 8; ++r) {
    for (std::size_t i = 0; i < 40; ++i)
      values[r][i] += static_cast<double>((r * 31 + i * 17) % 13);
  }
  CHECK(Values(values).find().agreed.empty());
  CHECK(Values(values).find().departures.empty());
  // By name, whatever chance does.
  auto same = equal(8, 40);
  same[3][20] += 1;
  CHECK(Values(same, "step_time_ms").find().departures.empty());
  CHECK(Values(same, "memory_allocated").find().departures.empty());
  CHECK(Values(same, "dp_rank").find().departures.empty());
  CHECK(Values(same, "ranking_loss").find().departures.size() == 1);
  // One rank is another all along: by its nature, not by a fault.
  auto other = equal(8, 40);
  for (double& value : other[0]) value += 3;
  CHECK(Values(other, "samples").find().departures.empty());
}

TEST_CASE("find_agreement: faults that have nothing to do with each other are all found") {
  auto values = equal(8, 40);
  values[5][20] = 99.5;
  SUBCASE("once each") { values[6][30] = kNan; }
  SUBCASE("for good") {
    for (std::size_t i = 30; i < 40; ++i) values[6][i] = kNan;
  }
  SUBCASE("for good, nearly from the beginning") {
    for (auto& rank : values) rank.insert(rank.end(), rank.begin(), rank.begin() + 30);
    values[5][20] = values[0][20];
    values[5][1] = 99.5;
    for (std::size_t i = 30; i < 70; ++i) values[6][i] += 0.5;
  }
  SUBCASE("then all say NaN to the end") {
    values[6][30] = kNan;
    for (auto& rank : values) rank.resize(300, kNan);
  }
  SUBCASE("one of them comes and goes") {
    values[5][24] = values[5][33] = 7;
    values[6][30] = kNan;
  }
  const Agreement found = Values(values).find();
  REQUIRE(found.departures.size() == 2);
  CHECK(found.departures[0].rank == 5);
  CHECK(found.departures[0].value == 99.5);
  CHECK(found.departures[1].rank == 6);
  CHECK(found.departures[1].first == 30);
}

TEST_CASE("find_agreement: ranks that depart in one number are few, and faults of it too") {
  auto values = equal(8, 40);
  values[5][20] = 99.5;
  SUBCASE("two of eight together") { values[6][20] = 98; }
  SUBCASE("at four times") { values[1][3] = values[2][9] = values[3][34] = 7; }
  SUBCASE("many, now and then") {
    for (std::size_t i = 0; i < 40; i += 3) values[i % 7][i] += 0.5;
  }
  SUBCASE("a number that is the same all the time") {
    for (auto& rank : values) rank.assign(40, 0.0);
    values[5][20] = values[6][30] = 1;
  }
  SUBCASE("two of three iterations") {
    values = equal(8, 3);
    values[5][0] = values[5][2] = 7;
  }
  SUBCASE("a counter that is read too early") {
    values[6][30] = values[0][29];
    values[5][20] = values[0][21];
  }
  CHECK(Values(values).find().departures.empty());
}

TEST_CASE("find_agreement: ranks that depart together do not hide another one") {
  auto values = equal(16, 40);
  values[2][11] = values[3][11] = 99.5;
  values[9][25] = kNan;
  CHECK(Values(values).find().departures.size() == 3);
}

TEST_CASE("find_agreement: of two ranks the second departs, when they agree mostly") {
  auto values = equal(2, 30);
  values[1][9] += 1;
  const Agreement found = Values(values).find();
  REQUIRE(found.departures.size() == 1);
  CHECK(found.departures[0].rank == 1);
  CHECK(found.departures[0].first == 9);
}

TEST_CASE("values_agree: the shorter print decides") {
  const Precision two = precision({2.31, 1.05}), four = precision({2.3105, 1.0512});
  CHECK(values_agree(2.31, two, 2.3105, four));
  CHECK_FALSE(values_agree(2.31, two, 2.3165, four));
  CHECK_FALSE(values_agree(2.3105, four, 2.3106, four));
  CHECK_FALSE(values_agree(2.3, two, 2.34, two));
  const Precision sci2 = precision({1.23e-5, 9.87e2}), sci4 = precision({1.2345e-5, 9.8745e2});
  CHECK(values_agree(9.87e2, sci2, 9.8745e2, sci4));
  CHECK_FALSE(values_agree(9.87e2, sci2, 9.9745e2, sci4));
  CHECK(values_agree(kNan, two, kNan, four));
  CHECK_FALSE(values_agree(kNan, two, 1.0, four));
  CHECK_FALSE(values_agree(std::numeric_limits<double>::infinity(), two, 1.0, four));
}

}  // namespace logarithm::aggregator
