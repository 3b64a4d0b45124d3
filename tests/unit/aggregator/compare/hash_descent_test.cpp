#include "aggregator/compare/hash_descent.h"

#include <doctest/doctest.h>

#include <ctime>
#include <random>

#include "aggregator/store/iteration_hash.h"

namespace logarithm::aggregator {
namespace {

// Trees of ranks that agree but for what is planted, computed where they are asked.
struct MadeTrees {
  std::int64_t iterations = 1'000'000;
  std::vector<std::pair<std::size_t, std::int64_t>> planted;  // (rank, iteration)
  std::size_t odd = SIZE_MAX;                                 // a rank that differs everywhere
  mutable std::uint64_t asked = 0;

  std::vector<IterationNode> nodes(std::size_t rank, unsigned level, std::int64_t first,
                                   std::int64_t last) const {
    std::vector<IterationNode> out;
    const std::int64_t top = hash_node(iterations - 1, level);
    for (std::int64_t node = std::max<std::int64_t>(first, 0); node <= std::min(last, top);
         ++node) {
      std::uint64_t hash = mix_bits(static_cast<std::uint64_t>(node) * 8 + level + 1);
      if (rank == odd) hash += 12345;
      for (const auto& [other, iteration] : planted) {
        if (other == rank && hash_node(iteration, level) == node) hash += 777;
      }
      out.push_back({node, hash & kHashMask});
      ++asked;
    }
    return out;
  }
  std::optional<HashDivergence> find(std::size_t ranks, std::int64_t from = 0) const {
    auto found = first_hash_divergence(
        ranks,
        [this](std::size_t rank, unsigned level, std::int64_t first, std::int64_t last) {
          return Result<std::vector<IterationNode>>(nodes(rank, level, first, last));
        },
        from);
    REQUIRE(found.ok());
    return *found;
  }
};

}  // namespace

TEST_CASE("first_hash_divergence: ranks of which nobody says an iteration do not part") {
  const HashNodes none = [](std::size_t, unsigned, std::int64_t, std::int64_t) {
    return Result<std::vector<IterationNode>>(std::vector<IterationNode>());
  };
  for (const std::size_t ranks : {0, 1, 3}) {
    const auto found = first_hash_divergence(ranks, none, 0);
    REQUIRE(found.ok());
    CHECK_FALSE(found->has_value());
  }
}

TEST_CASE("first_hash_divergence: 64 ranks, a million iterations, only the way down is read") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    MadeTrees trees;
    const std::size_t rank = 1 + random() % 63;
    const auto iteration = static_cast<std::int64_t>(random() % 999'999);
    trees.planted = {{rank, iteration}, {(rank + 5) % 63, iteration + 40'000}};
    trees.odd = 0;  // rank 0 prints more all along
    const auto found = trees.find(64);
    REQUIRE(found.has_value());
    CHECK(found->iteration == iteration);
    CHECK(found->rank == rank);
    CHECK(trees.asked < 80'000);
  }
}

TEST_CASE("first_hash_divergence: 64 ranks x a million iterations take less than 50 ms of CPU") {
  MadeTrees trees;
  trees.planted = {{17, 876'543}};
  const std::clock_t before = std::clock();
  const auto found = trees.find(64);
  const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  REQUIRE(found.has_value());
  CHECK(found->iteration == 876'543);
  MESSAGE("seconds: " << seconds);
  CHECK(seconds < 0.5);  // of this build, not optimised
}

TEST_CASE("first_hash_divergence: equal trees have none, and the search goes on behind one") {
  MadeTrees trees;
  trees.iterations = 5000;
  CHECK_FALSE(trees.find(8).has_value());
  trees.planted = {{3, 100}, {4, 2000}};
  CHECK(trees.find(8)->iteration == 100);
  CHECK(trees.find(8, 101)->iteration == 2000);
  CHECK(trees.find(8, 101)->rank == 4);
  CHECK_FALSE(trees.find(8, 2001).has_value());
  // The last iteration is open.
  trees.planted = {{3, 4999}};
  CHECK_FALSE(trees.find(8).has_value());
  CHECK_FALSE(trees.find(1).has_value());
  CHECK_FALSE(trees.find(0).has_value());
}

TEST_CASE("first_hash_divergence: an error of the source is the answer") {
  const auto broken = [](std::size_t, unsigned, std::int64_t, std::int64_t) {
    return Result<std::vector<IterationNode>>(Error(ErrorCode::unavailable, "old"));
  };
  CHECK(first_hash_divergence(4, broken, 0).error().code() == ErrorCode::unavailable);
}

}  // namespace logarithm::aggregator
