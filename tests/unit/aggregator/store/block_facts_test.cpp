#include "aggregator/store/block_facts.h"

#include <doctest/doctest.h>

#include "common/block/block_writer.h"
#include "tests/support/fake_job.h"

namespace logarithm::aggregator {

TEST_CASE(
    "facts_of: an iteration begins by its stamps, and later than a file's time may be early") {
  constexpr UnixNanos kTime = 1'000'000'000, kGrain = 10'000'000;
  for (const bool stamped : {true, false}) {
    CAPTURE(stamped);
    BlockWriter writer(StreamId{StreamBase{1, 1}, 0}, 0);
    std::uint64_t offset = 0;
    for (const std::int64_t iteration : {5, 5, 6}) {
      Line line = test::make_line(offset, kTime + iteration, "step");
      line.iteration = iteration;
      if (!stamped) line.flags |= line_flag::derived_time;
      offset = line.end();
      writer.add(line);
    }
    const auto encoded = writer.finish(0);
    REQUIRE(encoded.ok());
    const auto reader = BlockReader::open(encoded->bytes);
    REQUIRE(reader.ok());

    const auto facts = facts_of(*reader);

    REQUIRE(facts.ok());
    const UnixNanos begin = kTime + (stamped ? 0 : kGrain);
    CHECK(facts->iterations == std::map<std::int64_t, UnixNanos>{{5, begin + 5}, {6, begin + 6}});
  }
}

}  // namespace logarithm::aggregator
