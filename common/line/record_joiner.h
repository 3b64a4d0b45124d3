#pragma once

#include <optional>
#include <string_view>

#include "common/line/line.h"
#include "common/line/parser_state.h"

namespace logarithm {

// What decides whether a line continues the open record.
struct RecordFacts {
  bool has_header = false;
  bool stands_alone = false;   // a wrapper or a rule shows that it continues no header's record
  bool report_row = false;     // the header says: a row of a report that began earlier
  bool has_iteration = false;  // a line that reports progress of its own is no continuation
  std::string_view body;
  std::optional<std::int32_t> rank;  // of the line's wrapper: lines of two ranks are never joined
};

inline constexpr std::uint32_t kMaxRecordLines = 500;
inline constexpr std::uint64_t kMaxRecordBytes = 256u << 10;
// Records of writers that take turns in one stream and stay open meanwhile; the one that was quiet
// for longest is closed for a new one.
inline constexpr std::size_t kMaxOpenRecords = 16;

// The open record of the writer `rank`, which becomes state.record; the one that was there is kept
// in state.parked.
OpenRecord& record_of(ParserState& state, std::optional<std::int32_t> rank);

// True for the first line of a Python traceback.
bool begins_traceback(std::string_view body);
// True when the line is code or a frame inside the open traceback: text that names no fact.
bool is_traceback_frame(const OpenRecord& record, const RecordFacts& facts);

// What a line did to its record.
enum class Joined {
  plain,
  // The record may end with this line: record.text is what rules `over: record` are to see now.
  complete,
};

// Makes `line` the head of a new record, a continuation of the open one (which gives it severity
// and call site where it has none), or a line of its own; `record` becomes what is open after it.
// Uses line.offset, length, observed, severity and callsite.
Joined join_record(Line& line, const RecordFacts& facts, OpenRecord& record);

// Gives `line` what it lacks, flagged derived_fields.
void inherit_fields(Line& line, Severity severity, const std::string& callsite);

}  // namespace logarithm
