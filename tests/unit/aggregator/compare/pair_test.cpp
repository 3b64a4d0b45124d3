// Two sequences, and two lines, side by side.
#include <doctest/doctest.h>

#include <random>

#include "aggregator/compare/line_values.h"
#include "aggregator/compare/sequence_diff.h"

namespace logarithm::aggregator {
namespace {

using Sequence = std::vector<std::uint64_t>;

std::size_t longest_common(const Sequence& a, const Sequence& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      table[i][j] =
          a[i] == b[j] ? table[i + 1][j + 1] + 1 : std::max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table[0][0];
}

void check_valid(const Sequence& a, const Sequence& b, const std::vector<Aligned>& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    REQUIRE(a[pairs[i].a] == b[pairs[i].b]);
    if (i > 0) REQUIRE((pairs[i - 1].a < pairs[i].a && pairs[i - 1].b < pairs[i].b));
  }
}

OwnFacts own(const std::string& rank, const std::string& pid) {
  OwnFacts out;
  out.numbers = {rank, pid};
  out.host = "node" + rank;
  return out;
}

}  // namespace

TEST_CASE("align: as long as any alignment, for random sequences") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Sequence a, b;
    for (auto n = random() % 40; n > 0; --n) a.push_back(random() % 6);
    for (auto n = random() % 40; n > 0; --n) b.push_back(random() % 6);
    const auto pairs = align(a, b);
    check_valid(a, b, pairs);
    CHECK(pairs.size() == longest_common(a, b));
  }
}

TEST_CASE("align: long sequences that differ much are aligned in order, and fast") {
  std::mt19937 random(5);
  Sequence a, b;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    if (random() % 3 != 0) a.push_back(i % 500);
    if (random() % 3 != 0) b.push_back(i % 500);
  }
  const auto pairs = align(a, b);
  check_valid(a, b, pairs);
  CHECK(pairs.size() > a.size() / 4);
  CHECK(align(a, a).size() == a.size());
  CHECK(align(a, {}).empty());
}

TEST_CASE("value_differences: values count; own rank, host, pid, times and addresses do not") {
  const OwnFacts left = own("3", "4711"), right = own("7", "4712");
  const auto differ = [&](const char* a, const char* b) {
    return value_differences(a, left, b, right);
  };
  CHECK(differ("loss 2.31", "loss 2.31").empty());
  CHECK(differ("loss 2.31", "loss 2.35") == std::vector<ValueDifference>{{"2.31", "2.35"}});
  CHECK(differ("loss 2.31", "loss nan") == std::vector<ValueDifference>{{"2.31", "nan"}});
  CHECK(differ("rank 3 of 8 on node3 pid 4711", "rank 7 of 8 on node7 pid 4712").empty());
  CHECK(differ("rank 3 of 8", "rank 7 of 9") == std::vector<ValueDifference>{{"8", "9"}});
  CHECK(differ("buffer at 0x7f3a10 free", "buffer at 0x7f9910 free").empty());
  CHECK(differ("forward took 12 ms", "forward took 19 ms").empty());
  CHECK(differ("elapsed time per iteration (ms): 12.5 | loss: 1.0 |",
               "elapsed time per iteration (ms): 13.5 | loss: 1.5 |") ==
        std::vector<ValueDifference>{{"1.0", "1.5"}});
  CHECK(differ("started at 12:00:31", "started at 12:00:33").empty());
  CHECK(differ("wrote /out/rank3/log.txt", "wrote /out/rank7/log.txt").empty());
  CHECK(differ("wrote /out/rank3/a.txt", "wrote /out/rank7/b.txt") ==
        std::vector<ValueDifference>{{"/out/rank3/a.txt", "/out/rank7/b.txt"}});
  CHECK(differ("opened bucket alpha", "opened bucket beta") ==
        std::vector<ValueDifference>{{"alpha", "beta"}});
  CHECK(differ("memory: 18.06GiB tps: 3453", "memory: 11.90GiB tps: 3999").empty());
  CHECK(differ("x 1", "x 1 2") == std::vector<ValueDifference>{{"", "2"}});
}

}  // namespace logarithm::aggregator
