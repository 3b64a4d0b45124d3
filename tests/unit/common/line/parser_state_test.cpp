#include "common/line/parser_state.h"

#include <doctest/doctest.h>

namespace logarithm {
namespace {

ParserState full_state() {
  ParserState state;
  state.iteration = -7;
  state.lane_iterations.set(3, INT64_MAX);
  state.lane_iterations.set(-2'000'000'000, INT64_MIN);
  state.lane_iterations.set(2'000'000'000, 5);
  state.last_time = 1'796'011'892'336'086'000;
  state.last_time_observed = 5;
  state.utc_offset_minutes = -345;
  state.record.kind = OpenRecord::Kind::traceback;
  state.record.head = 1ull << 60;
  state.record.severity = Severity::error;
  state.record.callsite = "train.py:88";
  state.record.lines = 3;
  state.record.bytes = 400;
  state.record.last_observed = 6;
  state.record.rank = 12;
  state.record.phase = 2;
  state.record.text = "Traceback\n  x";
  state.parked.push_back(state.record);
  state.parked[0].rank = 13;
  state.parked[0].kind = OpenRecord::Kind::arguments;
  state.boot = 7;
  state.piece = OpenPiece{9, Severity::info, "a.cc:1"};
  state.evidence.kind = WeakWrapper::host;
  state.evidence.host = 17;
  state.evidence.stem = 4'000'000'000;
  state.evidence.again = true;
  state.clock_change = {-345, 60, true};
  return state;
}

}  // namespace

TEST_CASE("Parser state: is read back as it was written") {
  const ParserState state = full_state();
  const auto read = decode_state(encode_state(state));
  REQUIRE(read.ok());
  CHECK(encode_state(*read) == encode_state(state));
  CHECK(read->iteration == -7);
  CHECK(read->lane_iterations.entries() == state.lane_iterations.entries());
  CHECK(read->record.callsite == "train.py:88");
  CHECK(read->record.rank == 12);
  CHECK(read->record.text == "Traceback\n  x");
  CHECK(read->record.phase == 2);
  REQUIRE(read->parked.size() == 1);
  CHECK(read->parked[0].rank == 13);
  CHECK(read->boot == 7);
  CHECK(read->piece->head == 9);
  CHECK(read->evidence.host == 17);
  CHECK(read->evidence.stem == 4'000'000'000);
  CHECK(read->evidence.again);
  CHECK_FALSE(read->evidence.others);
  CHECK(read->clock_change.from == -345);
  CHECK(read->clock_change.by == 60);
  CHECK(read->clock_change.doubled);
  CHECK(encode_state(*decode_state(encode_state(ParserState()))) == encode_state(ParserState()));
}

TEST_CASE("Parser state: what the versions before wrote is read, without what they lack") {
  ParserState state = full_state();
  state.clock_change = ClockChange();
  std::string bytes = encode_state(state);
  bytes.resize(bytes.size() - 1);  // no change of the clock
  bytes[0] = 3;
  const auto before = decode_state(bytes);
  REQUIRE(before.ok());
  CHECK(encode_state(*before) == encode_state(state));
  state.lane_iterations.clear();
  bytes = encode_state(state);
  bytes.resize(bytes.size() - 3);  // nor how many lanes
  bytes[0] = 2;
  const auto read = decode_state(bytes);
  REQUIRE(read.ok());
  CHECK(encode_state(*read) == encode_state(state));
}

TEST_CASE("Parser state: a thousand ranks in one stream cost a few bytes each") {
  ParserState state;
  state.iteration = 1'000'000;
  for (std::int32_t lane = 0; lane < 5000; ++lane) {
    state.lane_iterations.set(lane, 1'000'000 - lane % 3);
  }
  CHECK(state.lane_iterations.entries().size() == LaneIterations::kMost);
  CHECK(encode_state(state).size() < 3 * LaneIterations::kMost);
}

TEST_CASE(
    "Parser state: every cut is corrupt, every flipped byte is refused or read, never a crash") {
  const std::string bytes = encode_state(full_state());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(decode_state(std::string_view(bytes).substr(0, size)).ok());
  }
  CHECK_FALSE(decode_state(bytes + "x").ok());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      const auto read = decode_state(damaged);
      if (!read.ok()) CHECK(read.error().code() == ErrorCode::corrupt);
    }
  }
}

TEST_CASE("Parser state: stays within a few KiB whatever the call site is") {
  ParserState state = full_state();
  state.record.callsite = std::string(100'000, 'x');
  CHECK(encode_state(state).size() < 4096);
  CHECK(decode_state(encode_state(state)).ok());
}

}  // namespace logarithm
