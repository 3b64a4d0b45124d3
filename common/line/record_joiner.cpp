#include "common/line/record_joiner.h"

#include <algorithm>

namespace logarithm {
namespace {

constexpr UnixNanos kQuiet = 1'000'000'000;

bool indented(std::string_view body) {
  return !body.empty() && (body[0] == ' ' || body[0] == '\t');
}

// `RuntimeError: text`, `torch.cuda.OutOfMemoryError: text`, `KeyboardInterrupt`.
bool names_exception(std::string_view body) {
  std::size_t i = 0;
  auto word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  };
  while (i < body.size() && word(body[i])) ++i;
  return i > 0 && (body[0] < '0' || body[0] > '9') && (i == body.size() || body[i] == ':');
}

void open(OpenRecord& record, OpenRecord::Kind kind, const Line& line,
          std::optional<std::int32_t> rank) {
  record = OpenRecord();
  record.kind = kind;
  record.head = line.offset;
  record.severity = line.severity;
  record.callsite = line.callsite;
  record.lines = 1;
  record.bytes = line.length;
  record.last_observed = line.observed;
  record.rank = rank;
}

enum class Fit { no, yes, last };

Fit fit(const Line& line, const RecordFacts& facts, const OpenRecord& record) {
  if (!record.open() || record.rank != facts.rank) return Fit::no;
  if (record.kind == OpenRecord::Kind::traceback) {
    // Its shape says where it ends, so a pause in the middle does not cut it.
    if (indented(facts.body)) return Fit::yes;
    return names_exception(facts.body) ? Fit::last : Fit::no;
  }
  if (facts.has_iteration || line.observed - record.last_observed > kQuiet) return Fit::no;
  return Fit::yes;
}

}  // namespace

bool begins_traceback(std::string_view body) {
  return body.starts_with("Traceback (most recent call last):") ||
         body.starts_with("  + Exception Group Traceback (most recent call last):");
}

bool is_traceback_frame(const OpenRecord& record, std::string_view body) {
  return record.kind == OpenRecord::Kind::traceback && indented(body);
}

void inherit_fields(Line& line, Severity severity, const std::string& callsite) {
  if (line.severity == Severity::unset && severity != Severity::unset) {
    line.severity = severity;
    line.flags |= line_flag::derived_fields;
  }
  if (line.callsite.empty() && !callsite.empty()) {
    line.callsite = callsite;
    line.flags |= line_flag::derived_fields;
  }
}

void join_record(Line& line, const RecordFacts& facts, OpenRecord& record) {
  line.head = line.offset;
  if (facts.has_header) return open(record, OpenRecord::Kind::header, line, facts.rank);
  if (begins_traceback(facts.body)) {
    line.severity = std::max(line.severity, Severity::error);
    return open(record, OpenRecord::Kind::traceback, line, facts.rank);
  }
  // Redraws of a progress bar come between the lines of a record without being part of it.
  if (line.has(line_flag::progress)) return;

  const Fit fits = fit(line, facts, record);
  if (fits == Fit::no) {
    record = OpenRecord();
    return;
  }
  line.flags |= line_flag::continuation;
  if (record.lines >= kMaxRecordLines || record.bytes >= kMaxRecordBytes) {
    // Too long to be one record: what follows hangs together, but says nothing of the old head.
    return open(record, OpenRecord::Kind::overflow, line, facts.rank);
  }
  line.head = record.head;
  inherit_fields(line, record.severity, record.callsite);
  ++record.lines;
  record.bytes += line.length;
  record.last_observed = std::max(record.last_observed, line.observed);
  if (fits == Fit::last) record = OpenRecord();
}

}  // namespace logarithm
