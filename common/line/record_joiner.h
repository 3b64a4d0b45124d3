#pragma once

#include <optional>
#include <string_view>

#include "common/line/line.h"
#include "common/line/parser_state.h"

namespace logarithm {

// What decides whether a line continues the open record.
struct RecordFacts {
  bool has_header = false;
  bool has_iteration = false;  // a line that reports progress of its own is no continuation
  std::string_view body;
  std::optional<std::int32_t> rank;  // of the line's wrapper
};

inline constexpr std::uint32_t kMaxRecordLines = 500;
inline constexpr std::uint64_t kMaxRecordBytes = 256u << 10;

// True for the first line of a Python traceback.
bool begins_traceback(std::string_view body);
// True when the line is code or a frame inside the open traceback: text that names no fact.
bool is_traceback_frame(const OpenRecord& record, std::string_view body);

// Makes `line` the head of a new record, a continuation of the open one (which gives it severity
// and call site where it has none), or a line of its own; `record` becomes what is open after it.
// Uses line.offset, length, observed, severity and callsite.
void join_record(Line& line, const RecordFacts& facts, OpenRecord& record);

// Gives `line` what it lacks, flagged derived_fields.
void inherit_fields(Line& line, Severity severity, const std::string& callsite);

}  // namespace logarithm
