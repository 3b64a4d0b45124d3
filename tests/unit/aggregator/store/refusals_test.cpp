#include <doctest/doctest.h>

#include <random>

#include "made_store.h"

namespace logarithm::aggregator::test {
namespace {

const StreamId kStream = stream_of("rank 0");
const JobKey kJob = key_of("run7");

TEST_CASE("Storage: a block whose beginning is stored is refused with where to resume") {
  Store store;
  const auto lines = numbered_lines(0, 10);
  const std::vector<Line> head(lines.begin(), lines.begin() + 4);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", head)).stored);

  const IngestOutcome outcome = store.put(kJob, make_block(kStream, "run7", lines));

  CHECK(code_of(outcome) == wire::RefuseCode::overlap);
  CHECK(outcome.refuse->resume_at == head.back().end());
  CHECK(outcome.refuse->end == lines.back().end());
  CHECK(store.all_lines(kJob).size() == 4);
}

TEST_CASE("Storage: a block that runs into a stored range is stored up to it") {
  Store store;
  const auto lines = numbered_lines(0, 10);
  REQUIRE(store.put(kJob, make_block(kStream, "run7", {lines[4], lines[5]})).stored);
  SUBCASE("and resumes after it") {
    const IngestOutcome outcome = store.put(kJob, make_block(kStream, "run7", lines));
    CHECK(code_of(outcome) == wire::RefuseCode::overlap);
    CHECK(outcome.refuse->resume_at == lines[5].end());
    const std::vector<Line> rest(lines.begin() + 6, lines.end());
    REQUIRE(store.put(kJob, make_block(kStream, "run7", rest)).stored);
    CHECK(store.all_lines(kJob).size() == 10);
    CHECK(store.stored(kJob, kStream.base)[0].ranges ==
          std::vector<Range>{{0, lines.back().end()}});
    CHECK(store.stored(kJob, kStream.base)[0].tail_crc == lines.back().end());
  }
  SUBCASE("and is done when nothing is behind it") {
    const std::vector<Line> front(lines.begin(), lines.begin() + 6);
    CHECK(store.put(kJob, make_block(kStream, "run7", front)).stored);
    CHECK(store.all_lines(kJob).size() == 6);
  }
  SUBCASE("and a line across its beginning is shortened, not repeated") {
    const auto other = make_lines(0, {std::string(lines[4].offset + 5, 'x')});
    CHECK(store.put(kJob, make_block(kStream, "run7", other)).stored);
    auto view = store.snapshot(kJob);
    const auto first = store.lines(*view, store.candidates(*view)[0]);
    REQUIRE(first.size() == 1);
    CHECK(first[0].raw == std::string(lines[4].offset, 'x'));
    CHECK(first[0].has(line_flag::partial));
  }
}

TEST_CASE("Storage: what a block needs and the shard lacks is asked for") {
  Store store;
  const MadeBlock block = make_block(kStream, "run7", numbered_lines(0, 10));
  REQUIRE_FALSE(block.templates.templates.empty());

  auto nothing = store.apply(kJob, {block.block});
  CHECK(code_of(nothing->back()) == wire::RefuseCode::unknown_stream);

  auto no_texts = store.apply(kJob, {info_of(kStream, "run7"), block.block});
  CHECK(code_of(no_texts->back()) == wire::RefuseCode::unknown_template);
  CHECK(no_texts->back().refuse->templates.size() == block.templates.templates.size());

  auto all = store.apply(kJob, {block.templates, block.block});
  CHECK(all->back().stored);
}

TEST_CASE("Storage: one fingerprint with two texts is refused, and only those blocks") {
  Store store;
  const MadeBlock block = make_block(kStream, "run7", numbered_lines(0, 10));
  wire::Templates other = block.templates;
  other.templates[0].text += "?";
  REQUIRE(store.apply(kJob, {other})->back().stored);

  auto outcomes = store.apply(kJob, {info_of(kStream, "run7"), block.templates, block.block});

  CHECK(code_of((*outcomes)[1]) == wire::RefuseCode::template_conflict);
  CHECK(code_of((*outcomes)[2]) == wire::RefuseCode::template_conflict);
  CHECK((*outcomes)[2].refuse->templates == std::vector<TemplateId>{other.templates[0].id});
}

TEST_CASE("Storage: a block that contradicts its envelope or its job is refused for good") {
  Store store;
  MadeBlock block = make_block(kStream, "run7", numbered_lines(0, 10));
  SUBCASE("range") { block.block.end += 1; }
  SUBCASE("empty range") { block.block.end = block.block.first; }
  SUBCASE("stream") { block.block.stream.generation = 1; }
  SUBCASE("job") { block.block.job = "another"; }
  SUBCASE("bytes") { block.block.bytes[block.block.bytes.size() / 2] ^= 1; }
  SUBCASE("nothing") { block.block.bytes.clear(); }
  CHECK(code_of(store.put(kJob, block)) == wire::RefuseCode::corrupt);
  CHECK(store.all_lines(kJob).empty());
}

TEST_CASE("Storage: mutated blocks never get in, never stop the good ones") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Store store;
  const MadeBlock good = make_block(kStream, "run7", numbered_lines(0, 30));
  REQUIRE(store.apply(kJob, {info_of(kStream, "run7"), good.templates}).ok());
  for (int batch = 0; batch < 100; ++batch) {
    std::vector<IngestItem> items;
    for (int i = 0; i < 100; ++i) {
      wire::Block bad = good.block;
      const std::size_t at = random() % bad.bytes.size();
      switch (random() % 3) {
        case 0: bad.bytes[at] = static_cast<char>(bad.bytes[at] ^ (1 << (random() % 8))); break;
        case 1: bad.bytes.resize(at); break;
        default: bad.bytes.insert(at, 1, static_cast<char>(random())); break;
      }
      items.push_back(std::move(bad));
    }
    auto outcomes = store.apply(kJob, std::move(items));
    REQUIRE(outcomes.ok());
    for (const IngestOutcome& outcome : *outcomes) REQUIRE_FALSE(outcome.stored);
  }
  CHECK(store.put(kJob, good).stored);
  CHECK(store.all_lines(kJob).size() == 30);
}

}  // namespace
}  // namespace logarithm::aggregator::test
