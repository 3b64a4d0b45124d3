#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/line/file_line.h"
#include "common/line/lane_iterations.h"
#include "common/line/line.h"
#include "common/line/unwrap.h"
#include "common/line/weak_evidence.h"

namespace logarithm {

// The record that later lines may continue.
struct OpenRecord {
  enum class Kind : std::uint8_t {
    none = 0,
    header = 1,
    traceback = 2,
    overflow = 3,
    group = 4,         // an exception group
    faulthandler = 5,  // Fatal Python error, threads
    native = 6,        // terminate called …, C++ stacks
    signal = 7,        // Open MPI's report
    nvrm = 8,          // the NVIDIA driver's several lines
    printed = 9,       // a pretty-printed value
    arguments = 10,    // Megatron's table
  };
  Kind kind = Kind::none;
  std::uint64_t head = 0;
  Severity severity = Severity::unset;
  std::string callsite;
  std::uint32_t lines = 0;
  std::uint64_t bytes = 0;
  UnixNanos last_observed = 0;
  std::optional<std::int32_t> rank;  // of its wrapper
  std::uint8_t phase = 0;            // how far the shape of its kind is
  std::string text;  // bodies joined by "\n" for rules `over: record`: at most 4 KiB

  bool open() const { return kind != Kind::none; }
};

// Who wrote a file line, as its wrappers say: what the rest of that line inherits.
struct LastWriter {
  std::optional<std::int32_t> rank, lane;
};

// The piece that the next bytes are glued to.
struct OpenPiece {
  std::uint64_t head = 0;
  Severity severity = Severity::unset;
  std::string callsite;
  LastWriter writer = {};
};

// Summer time that began or ended while the stream was read.
struct ClockChange {
  std::int32_t from = 0, by = 0;  // minutes: the zone that it holds for, and what was added to it
  bool doubled = false;           // in the hour that comes twice, the second time
};

// What a parser carries from line to line; together with the position it is all a successor needs.
struct ParserState {
  std::optional<std::int64_t> iteration;           // carried
  LaneIterations lane_iterations;                  // ... by those who say who they are
  std::optional<UnixNanos> last_time;              // the newest parsed time, as order time
  UnixNanos last_time_observed = 0;                // when that line was observed
  std::optional<std::int32_t> utc_offset_minutes;  // estimated
  ClockChange clock_change;
  OpenRecord record;
  std::optional<OpenPiece> piece;
  // By the container's output: whose pieces left with others to come, and the last writer.
  std::array<std::optional<OpenPiece>, 3> pieces_left;
  std::array<LastWriter, 3> writers;
  FileLine file_line;  // the one that the position lies in
  WeakEvidence evidence;
  KnownHosts hosts;
  std::vector<OpenRecord> parked;  // of other writers in the same stream
  // When the host booted, at the latest: what uptimes are relative to.
  std::optional<UnixNanos> boot;
};

// A compact versioned form; a few hundred bytes, and the text of what is open. See README.md for
// the table.
std::string encode_state(const ParserState& state);
// Error{corrupt} for anything that encode_state() did not write.
Result<ParserState> decode_state(std::string_view bytes);

}  // namespace logarithm
