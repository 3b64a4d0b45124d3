#include "aggregator/store/iteration_hash.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "tests/unit/aggregator/store/made_store.h"

namespace logarithm::aggregator {
namespace {

using test::Store;

constexpr std::int64_t kMost = INT64_MAX, kLeast = INT64_MIN;

// A stream of rank `rank`, whose path says so: its iterations have an axis.
wire::StreamInfo stream_info(const StreamId& id, std::int32_t rank) {
  wire::StreamInfo info = test::info_of(id, "j");
  info.attributes.rank = rank;
  info.attributes.rank_source = "path";
  return info;
}

std::vector<Line> made_lines(unsigned seed, std::size_t count) {
  std::mt19937 random(seed);
  static const char* const kWords[] = {"alpha step", "beta done", "gamma wait"};
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) texts.push_back(kWords[random() % 3]);
  std::vector<Line> lines = test::make_lines(0, texts);
  std::int64_t iteration = 0;
  for (Line& line : lines) {
    if (random() % 3 == 0) ++iteration;
    if (random() % 40 == 0) iteration -= 3;  // an evaluation that counts anew
    line.iteration = iteration;
  }
  return lines;
}

void put(Store& store, const StreamId& id, std::int32_t rank, const std::vector<Line>& lines) {
  auto made = test::make_block(id, "j", lines);
  std::vector<IngestItem> items = {stream_info(id, rank), made.templates, made.block};
  auto outcomes = store.apply(test::key_of("j"), std::move(items));
  REQUIRE(outcomes.ok());
  REQUIRE(outcomes->back().stored);
}

void put_cut(Store& store, const StreamId& id, std::int32_t rank, const std::vector<Line>& lines,
             unsigned seed) {
  std::mt19937 random(seed);
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random() % 20, lines.size() - at);
    const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(at);
    put(store, id, rank, {begin, begin + static_cast<std::ptrdiff_t>(size)});
    at += size;
  }
}

std::map<std::int64_t, std::uint64_t> nodes(Store& store, std::int32_t rank, unsigned level) {
  auto view = store.snapshot(test::key_of("j"));
  const std::string axis = iteration_axis(stream_info({}, rank).attributes);
  auto found = store.run([&](BlockingToken& token) {
    return view->iteration_nodes(token, axis, level, kLeast, kMost);
  });
  REQUIRE_MESSAGE(found.ok(), found.error().to_string());
  std::map<std::int64_t, std::uint64_t> out;
  for (const IterationNode& node : *found) out[node.node] = node.hash;
  return out;
}

}  // namespace

TEST_CASE("Iteration hashes: how a stream was cut into blocks changes no node") {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    Store store;
    const auto lines = made_lines(seed, 400);
    put(store, test::stream_of("a"), 0, lines);
    put_cut(store, test::stream_of("b"), 1, lines, seed);
    for (unsigned level = 0; level < kHashLevels; ++level) {
      CHECK(!nodes(store, 0, level).empty());
      CHECK(nodes(store, 0, level) == nodes(store, 1, level));
    }
    // A replay, and a restart, change nothing.
    const auto before = nodes(store, 1, 0);
    put_cut(store, test::stream_of("b"), 1, lines, seed + 1);
    store.open();
    CHECK(nodes(store, 1, 0) == before);
  }
}

TEST_CASE("Iteration hashes: one line more, less or out of order shows in its iteration alone") {
  Store store;
  std::vector<Line> lines = test::make_lines(0, std::vector<std::string>(300, "alpha step"));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i].iteration = static_cast<std::int64_t>(i / 3);
    lines[i].template_id = 100 + i % 3;
  }
  put_cut(store, test::stream_of("a"), 0, lines, 1);
  auto swapped = lines;
  std::swap(swapped[150].template_id, swapped[151].template_id);
  put_cut(store, test::stream_of("b"), 1, swapped, 2);
  std::map<std::int64_t, std::uint64_t> differing;
  const auto left = nodes(store, 0, 0), right = nodes(store, 1, 0);
  for (const auto& [iteration, hash] : left) {
    if (right.at(iteration) != hash) differing[iteration] = hash;
  }
  REQUIRE(differing.size() == 1);
  CHECK(differing.begin()->first == 50);
  CHECK(nodes(store, 0, 1).at(0) != nodes(store, 1, 1).at(0));
  CHECK(nodes(store, 0, 1).at(1) == nodes(store, 1, 1).at(1));
  CHECK(nodes(store, 0, 2).at(0) != nodes(store, 1, 2).at(0));
}

TEST_CASE("Iteration hashes: two streams of a rank add up, in any order of arrival") {
  Store store;
  const auto out = made_lines(1, 100), err = made_lines(2, 100);
  put(store, test::stream_of("a.out"), 0, out);
  put(store, test::stream_of("a.err"), 0, err);
  put_cut(store, test::stream_of("b.err"), 1, err, 3);
  put_cut(store, test::stream_of("b.out"), 1, out, 4);
  CHECK(nodes(store, 0, 0) == nodes(store, 1, 0));
}

TEST_CASE("Iteration hashes: sealing keeps them") {
  Store store;
  put_cut(store, test::stream_of("a"), 0, made_lines(9, 300), 5);
  const auto before = nodes(store, 0, 1);
  while (store.maintain()) {
  }
  CHECK(nodes(store, 0, 1) == before);
}

}  // namespace logarithm::aggregator
