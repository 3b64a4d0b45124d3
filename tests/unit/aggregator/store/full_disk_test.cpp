#include <doctest/doctest.h>

#include <optional>
#include <random>

#include "made_store.h"

namespace logarithm::aggregator::test {
namespace {

const StreamId kStream = stream_of("rank 0");
const JobKey kJob = key_of("run7");

TEST_CASE(
    "case 98: Storage: below the reserve blocks wait, queries go on, and it heals by itself") {
  std::uint64_t free_bytes = 10;
  SqliteStorageOptions options;
  options.min_free_bytes = 100;
  options.free_bytes = [&](const std::string&) { return std::optional(free_bytes); };
  Store store(options);
  const MadeBlock block = make_block(kStream, "run7", numbered_lines(0, 5));

  const IngestOutcome outcome = store.put(kJob, block);
  CHECK(code_of(outcome) == wire::RefuseCode::no_space);
  CHECK(outcome.refuse->retry_after_ms > 0);
  CHECK(store.all_lines(kJob).empty());

  free_bytes = 1000;
  CHECK(store.put(kJob, block).stored);
  free_bytes = 10;
  CHECK(store.put(kJob, block).stored);  // a replay needs no room
  CHECK(store.all_lines(kJob).size() == 5);
}

TEST_CASE("case 98: Storage: a full file undoes the whole batch, and what fits later is taken") {
  SqliteStorageOptions options;
  options.jobs.database.max_pages = 120;
  Store store(options);
  std::uint64_t offset = 0;
  std::mt19937_64 random(7);
  Result<std::vector<IngestOutcome>> outcome = std::vector<IngestOutcome>();
  std::size_t stored = 0;
  for (int i = 0; i < 200 && outcome.ok(); ++i) {
    std::vector<std::string> texts;
    for (int n = 0; n < 200; ++n) {
      std::string text;
      for (int word = 0; word < 8; ++word) text += std::to_string(random()) + " ";
      texts.push_back(text);
    }
    const auto lines = make_lines(offset, texts);
    offset = lines.back().end();
    const MadeBlock block = make_block(kStream, "run7", lines);
    outcome = store.apply(kJob, {info_of(kStream, "run7"), block.templates, block.block});
    if (outcome.ok()) stored += lines.size();
  }
  REQUIRE_FALSE(outcome.ok());
  CHECK(outcome.error().code() == ErrorCode::no_space);
  CHECK(store.all_lines(kJob).size() == stored);
}

}  // namespace
}  // namespace logarithm::aggregator::test
