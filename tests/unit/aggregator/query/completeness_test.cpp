#include "aggregator/query/completeness.h"

#include <doctest/doctest.h>

#include "tests/support/fake_job.h"

namespace logarithm::aggregator {
namespace {

StreamFacts facts_of(std::vector<Range> ranges) {
  StreamFacts facts;
  facts.ranges = std::move(ranges);
  return facts;
}

StreamProgress alive(std::uint64_t size) { return {size, "n1", true, std::chrono::seconds(0)}; }

}  // namespace

TEST_CASE("StreamState: a closed stream is complete when its end is stored or known lost") {
  StreamFacts facts = facts_of({{0, 100}});
  facts.closed = wire::Closed{{}, "j", 100, "exited"};
  CHECK(!state_of(facts, std::nullopt).lagging);
  facts.closed->size = 120;
  CHECK(state_of(facts, std::nullopt).lagging);
  CHECK(state_of(facts, std::nullopt).pending == 20);
  facts.gaps.push_back(Gap{100, 120, "deleted", 0});
  const StreamState lost = state_of(facts, std::nullopt);
  CHECK(!lost.lagging);
  CHECK(lost.has_loss);
}

TEST_CASE("StreamState: an open stream is complete only by a living agent's word") {
  StreamFacts facts = facts_of({{0, 100}});
  CHECK(state_of(facts, std::nullopt).lagging);
  CHECK(!state_of(facts, alive(100)).lagging);
  CHECK(state_of(facts, alive(130)).pending == 30);
  StreamProgress away = alive(100);
  away.alive = false;
  away.silent = std::chrono::seconds(42);
  CHECK(state_of(facts, away).why == "agent n1 not heard from for 42s");
}

TEST_CASE("StreamState: a hole between ranges is pending unless a gap explains it") {
  StreamFacts facts = facts_of({{0, 100}, {150, 200}});
  facts.closed = wire::Closed{{}, "j", 200, "exited"};
  CHECK(state_of(facts, std::nullopt).pending == 50);
  facts.gaps.push_back(Gap{100, 140, "copytruncate", 0});
  CHECK(state_of(facts, std::nullopt).pending == 10);
  facts.gaps.back().to = 150;
  CHECK(state_of(facts, std::nullopt).pending == 0);
  CHECK(state_of(facts, std::nullopt).has_loss);
}

TEST_CASE("StreamState: a beginning that is not stored is pending unless a gap explains it") {
  StreamFacts facts = facts_of({{50, 100}});
  CHECK(state_of(facts, alive(100)).lagging);
  CHECK(state_of(facts, alive(100)).pending == 50);
  facts.gaps.push_back(Gap{0, 50, "deleted", 0});
  CHECK(state_of(facts, alive(100)).pending == 0);
}

TEST_CASE("Completeness: an answer without a damaged block is not complete") {
  auto job = std::make_shared<test::FakeJob>();
  job->add_stream(StreamId{StreamBase{1, 1}, 0}, {});
  job->facts()[0].closed = wire::Closed{{}, "j", 0, "exited"};
  JobView view(JobKey{"default", "j"}, job);
  BlockRef block;
  block.lines = 7;
  CHECK_FALSE(view.note_damage(block, Error(ErrorCode::unavailable, "busy")));
  CHECK(view.note_damage(block, Error(ErrorCode::corrupt, "block: checksum")));
  CHECK(view.note_damage(block, Error(ErrorCode::corrupt, "block: checksum")));
  const auto nobody = [](const StreamId&) { return std::optional<StreamProgress>(); };
  const auto all = completeness_of(view, nobody, [](std::size_t) { return true; });
  CHECK(!all.complete);
  CHECK(all.reasons == std::vector<std::string>{"7 lines left out: 1 stored blocks are damaged"});
}

TEST_CASE("Completeness: sums streams up, with reasons") {
  auto job = std::make_shared<test::FakeJob>();
  job->add_stream(StreamId{StreamBase{1, 1}, 0}, {});
  job->add_stream(StreamId{StreamBase{1, 2}, 0}, {});
  job->facts()[0].closed = wire::Closed{{}, "j", 0, "exited"};
  job->facts()[0].gaps.push_back(Gap{0, 5, "nul_hole", 0});
  JobView view(JobKey{"default", "j"}, job);
  const auto nobody = [](const StreamId&) { return std::optional<StreamProgress>(); };
  const auto first = completeness_of(view, nobody, [](std::size_t i) { return i == 0; });
  CHECK(first.complete);
  CHECK(first.streams == 1);
  const auto both = completeness_of(view, nobody, [](std::size_t) { return true; });
  CHECK(!both.complete);
  CHECK(both.lagging == 1);
  CHECK(!both.reasons.empty());
}

}  // namespace logarithm::aggregator
