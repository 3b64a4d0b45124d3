#include "aggregator/compare/peers.h"

#include <doctest/doctest.h>

namespace logarithm::aggregator {
namespace {

// Groups by iteration.
RankHistory rank_with(BagBook& bags, std::int32_t number,
                      const std::vector<std::vector<std::uint32_t>>& iterations) {
  RankHistory rank;
  rank.rank = number;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    Bag bag;
    for (const std::uint32_t group : iterations[i]) bag.emplace_back(group, 1);
    rank.cells.push_back({static_cast<std::int64_t>(i), bags.intern(bag)});
  }
  rank.first = 0;
  rank.last = static_cast<std::int64_t>(iterations.size()) - 1;
  return rank;
}

using Iterations = std::vector<std::vector<std::uint32_t>>;

}  // namespace

TEST_CASE("habits_of: often or in a rhythm, from beginning to end") {
  BagBook bags;
  Iterations iterations(40, {1});
  for (std::size_t i = 9; i < 40; i += 10) iterations[i] = {1, 2};
  iterations[17].push_back(3);
  for (std::size_t i = 30; i < 40; ++i) iterations[i].push_back(4);
  for (const std::size_t i : {3u, 4u, 25u}) iterations[i].push_back(5);
  const Habits habits = habits_of(rank_with(bags, 0, iterations), bags);
  CHECK(habits.steady == std::vector<std::uint32_t>{1, 2});
  CHECK(habits.now_and_then == std::vector<std::uint32_t>{4, 5});
}

TEST_CASE("peers_by_habits: stages are classes, the one that prints more is a guest") {
  History history;
  const Iterations first(20, {1, 2}), second(20, {1, 3}), more(20, {1, 2, 4});
  for (std::int32_t r = 0; r < 8; ++r) {
    history.ranks.push_back(rank_with(history.bags, r, r == 0 ? more : r < 4 ? first : second));
  }
  const Peers peers = peers_by_habits(history);
  REQUIRE(peers.classes.size() == 2);
  CHECK(peers.classes[0].members == std::vector<std::size_t>{1, 2, 3});
  CHECK(peers.classes[0].guests == std::vector<std::size_t>{0});
  CHECK(peers.classes[1].members == std::vector<std::size_t>{4, 5, 6, 7});
  CHECK(peers.is_habit(0, 4));
  CHECK_FALSE(peers.is_habit(1, 4));
}

TEST_CASE("peers_by_habits: what many ranks print now and then makes no classes") {
  History history;
  for (std::int32_t r = 0; r < 8; ++r) {
    Iterations iterations(20, {1});
    // Half of them print group 9 in just more than half of their iterations.
    for (std::size_t i = 0; i < (r % 2 == 0 ? 12u : 8u); ++i) iterations[i * 20 / 12].push_back(9);
    history.ranks.push_back(rank_with(history.bags, r, iterations));
  }
  CHECK(peers_by_habits(history).classes.size() == 1);
}

TEST_CASE("peers_given: stated classes, and the rest as one") {
  History history;
  for (std::int32_t r = 0; r < 6; ++r) history.ranks.push_back(rank_with(history.bags, r, {{1}}));
  const Peers peers = peers_given(history, {{4, 5}, {0, 1}});
  REQUIRE(peers.classes.size() == 3);
  CHECK(peers.classes[0].members == std::vector<std::size_t>{4, 5});
  CHECK(peers.classes[2].members == std::vector<std::size_t>{2, 3});
}

}  // namespace logarithm::aggregator
