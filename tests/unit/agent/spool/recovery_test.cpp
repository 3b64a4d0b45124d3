#include "agent/spool/recovery.h"

#include <map>

#include "agent/spool/segment_reader.h"

#include "tests/unit/agent/spool/spool_fixture.h"

namespace logarithm::agent::test {
namespace {

const StreamId kA = stream_id(1), kB = stream_id(2);

// Three segments of two streams in turn; returns the end of both.
std::uint64_t fill(SpoolFixture& f) {
  REQUIRE(f.open().ok());
  std::uint64_t at = 0;
  for (int in_third = 0; in_third < 3; at += 10) {
    REQUIRE(f.append(kA, at, at + 10, {at % 7 + 1}).ok());
    REQUIRE(f.append(kB, at, at + 10, {at % 5 + 1}).ok());
    if (f.segments().size() == 3) ++in_third;
  }
  f.tick();
  return at;
}

// What promise 1 asks of a recovered spool: the blocks of each stream that are given are whole, in
// order, and lie before the position where the stream goes on; nothing lies between them unless
// the stream is unknown now (then the aggregator is asked).
void check_consistent(SpoolFixture& f) {
  std::map<StreamId, std::uint64_t> end;
  for (const SpooledBlock& block : f.next().blocks) {
    CHECK(block.block.bytes ==
          block_of(block.block.stream, block.block.first, block.block.end).bytes);
    if (end.contains(block.block.stream)) CHECK(end[block.block.stream] == block.block.first);
    end[block.block.stream] = block.block.end;
  }
  for (const StreamCheckpoint& checkpoint : f.spool->recovered()) {
    CHECK(checkpoint == checkpoint_of(checkpoint.stream, checkpoint.position));
    if (end.contains(checkpoint.stream)) CHECK(end[checkpoint.stream] == checkpoint.position);
  }
}

}  // namespace

TEST_CASE("Spool: case 67, a torn tail is cut and the record before it is the newest") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  REQUIRE(f.append(kA, 0, 10).ok());
  REQUIRE(f.append(kA, 10, 20).ok());
  std::string& bytes = *f.memory.bytes(f.segments().back());
  bytes.resize(bytes.size() - 7);

  REQUIRE(f.open().ok());

  CHECK(f.position(kA) == 10);
  CHECK(f.spool->report().torn_bytes > 0);
  CHECK(!f.spool->report().damaged());
  REQUIRE(f.append(kA, 10, 20).ok());
  REQUIRE(f.open().ok());
  CHECK(f.position(kA) == 20);
  check_consistent(f);
}

TEST_CASE("Spool: case 67, a flipped byte anywhere never parts data from position") {
  SpoolFixture whole;
  fill(whole);
  std::map<std::string, std::string> content;
  for (const std::string& path : whole.segments()) content[path] = *whole.memory.bytes(path);
  std::size_t tried = 0;
  for (const auto& [path, bytes] : content) {
    for (std::size_t at = 0; at < bytes.size(); at += 61) {
      SpoolFixture f;
      f.on_file_thread([&](BlockingToken& token) {
        for (const auto& [name, text] : content) {
          CHECK((*f.memory.open_append(token, name))->append(token, text).ok());
        }
      });
      (*f.memory.bytes(path))[at] = static_cast<char>(bytes[at] ^ 0x40);
      CAPTURE(path);
      CAPTURE(at);
      REQUIRE(f.open().ok());
      check_consistent(f);
      // It goes on, and what it writes is found again.
      for (const StreamId& stream : {kA, kB}) {
        const std::uint64_t from = f.position(stream);
        if (from != 0) REQUIRE(f.append(stream, from, from + 10).ok());
      }
      f.tick();
      REQUIRE(f.open().ok());
      check_consistent(f);
      ++tried;
    }
  }
  CHECK(tried > 100);
}

TEST_CASE(
    "Spool: case 67, without one of its segments it starts, and no stream jumps over a loss") {
  for (std::size_t gone = 0; gone < 3; ++gone) {
    CAPTURE(gone);
    SpoolFixture f;
    const std::uint64_t end = fill(f);
    const std::string path = f.segments()[gone];
    f.on_file_thread([&](BlockingToken& token) { CHECK(f.memory.remove(token, path).ok()); });
    const UnixNanos before = f.spool->created_at();

    REQUIRE(f.open().ok());

    check_consistent(f);
    CHECK(f.position(kA) < end);
    if (gone < 2) {
      CHECK(f.spool->report().broken_streams == 2);
      CHECK(f.spool->created_at() > before);
    }
  }
}

TEST_CASE("Spool: damage in what is acked already changes nothing") {
  SpoolFixture f;
  const std::uint64_t end = fill(f);
  std::vector<std::uint64_t> all;
  for (const SpooledBlock& block : f.next().blocks) all.push_back(block.number);
  const std::uint64_t first = all.front();
  const std::string oldest = f.segments().front();
  all.erase(all.begin());
  f.ack(all);  // the oldest segment stays for the sake of its first block
  f.tick();
  std::string& bytes = *f.memory.bytes(oldest);
  bytes[bytes.size() - 50] = static_cast<char>(bytes[bytes.size() - 50] ^ 1);

  REQUIRE(f.open().ok());

  CHECK(f.position(kA) == end);
  CHECK(f.position(kB) == end);
  const auto blocks = f.next().blocks;
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0].number == first);
}

TEST_CASE("Spool: case 63, unreadable files are set aside and the agent starts") {
  const std::vector<std::string> contents = {"", std::string("half a rec"), std::string(4096, '\0'),
                                             std::string(1000, 'r')};
  for (const std::string& content : contents) {
    SpoolFixture f;
    REQUIRE(f.open().ok());
    REQUIRE(f.append(kA, 0, 10).ok());
    const std::string segment = f.segments().back();
    *f.memory.bytes(segment) = content;
    *f.memory.bytes("/state/state.json") = content;
    f.tick();
    const UnixNanos now = f.clock.wall_now();

    REQUIRE(f.open().ok());

    CHECK(f.spool->recovered().empty());
    CHECK(f.spool->created_at() == now);
    CHECK(f.memory.bytes("/state/state.json.bad") != nullptr);
    CHECK((f.memory.bytes(segment + ".bad") != nullptr) == !content.empty());
    CHECK(f.append(kA, 0, 10).ok());
  }
}

TEST_CASE("Spool: a segment of a newer version is set aside, not misread") {
  SpoolFixture f;
  REQUIRE(f.open().ok());
  std::string segment;
  HeaderRecord header;
  header.version = segment_format::kVersion + 1;
  append_record(segment, segment_format::RecordType::header, encode(header));
  f.on_file_thread([&](BlockingToken& token) {
    CHECK((*f.memory.open_append(token, "/state/spool-000000000009.seg"))
              ->append(token, segment)
              .ok());
  });

  REQUIRE(f.open().ok());

  CHECK(f.spool->report().quarantined == 1);
}

TEST_CASE(
    "Spool: case 64, at every failing operation of an append the next start finds a whole state") {
  for (int nth = 0;; ++nth) {
    CAPTURE(nth);
    REQUIRE(nth < 1000);
    SpoolFixture f;
    f.options.segment_bytes = 2048;
    REQUIRE(f.open().ok());
    std::uint64_t end = 0;
    f.files.arm(nth);
    for (int i = 0; i < 12; ++i) {
      if (f.append(kA, end, end + 10, {static_cast<TemplateId>(i + 1)}).ok()) end += 10;
      if (i == 6) {
        std::vector<std::uint64_t> numbers;
        for (const SpooledBlock& block : f.next().blocks) numbers.push_back(block.number);
        f.ack(numbers);
      }
      f.tick();
    }
    f.files.disarm();
    const bool fired = f.files.fired();
    REQUIRE(f.open().ok());
    CHECK(f.position(kA) == end);
    check_consistent(f);
    if (!fired) break;
  }
}

TEST_CASE("Spool: case 64, at every failing operation of a start the next start finds everything") {
  for (int nth = 0;; ++nth) {
    CAPTURE(nth);
    REQUIRE(nth < 1000);
    SpoolFixture f;
    const std::uint64_t end = fill(f);
    std::string& bytes = *f.memory.bytes(f.segments().back());
    bytes += "torn";
    f.files.arm(nth);
    static_cast<void>(f.open().ok());
    const bool fired = f.files.fired();
    f.files.disarm();

    REQUIRE(f.open().ok());

    CHECK(f.position(kA) == end);
    CHECK(f.next().blocks.size() == 2 * end / 10);
    if (!fired) break;
  }
}

TEST_CASE("Spool records: those of a spool that kept the source with the stream are read") {
  StreamRecord stream;
  stream.stream = kA;
  stream.source = "old";
  stream.versions.emplace_back();
  const auto facts = decode_stream(encode(stream));
  REQUIRE(facts.ok());
  CHECK(facts->source == "old");

  AppendRecord append;
  append.stream = kA;
  append.at.position = 7;
  std::string bytes = encode(append);
  CHECK(decode_append(bytes)->at.source == "");
  bytes.pop_back();  // an empty text is its length
  REQUIRE(decode_append(bytes).ok());
  CHECK(!decode_append(bytes)->at.source.has_value());
  CHECK(decode_append(bytes)->at.position == 7);

  CheckpointRecord checkpoint;
  checkpoint.stream = kA;
  checkpoint.unacked = {3, 4};
  std::string text = encode(checkpoint);
  text.pop_back();
  REQUIRE(decode_checkpoint(text).ok());
  CHECK(!decode_checkpoint(text)->at.source.has_value());

  // In memory it stands as it was written, so that its CRC is found again.
  SpoolIndex index;
  index.replay_stream(*facts, 5);
  append.facts_crc = 5;
  append.at.source.reset();
  Segment segment;
  index.replay_append(segment, append, 0, 0);
  CHECK(index.streams.at(kA).checkpoint.source == "old");
  CHECK(encode(facts_of(index.streams.at(kA))) == encode(*facts));
  append.previous = append.number;
  append.at.source = "new";
  index.replay_append(segment, append, 0, 0);
  CHECK(index.streams.at(kA).checkpoint.source == "new");
  CHECK(encode(facts_of(index.streams.at(kA))) == encode(*facts));
}

}  // namespace logarithm::agent::test
