#include "common/line/record_joiner.h"

#include <algorithm>

#include "common/line/record_shapes.h"

namespace logarithm {
namespace {

using Kind = OpenRecord::Kind;

constexpr std::uint8_t kLoggedTraceback = 1;  // phase of a header's record

constexpr UnixNanos kSecond = 1'000'000'000;
constexpr UnixNanos kQuiet = kSecond;
// Where the shape says when it ends, a pause in the middle does not cut it; a minute does.
constexpr UnixNanos kShapeQuiet = 60 * kSecond;

// The text of a long record: its beginning and its end.
constexpr std::size_t kMaxText = 4096, kKeptHead = 1024, kKeptTail = 1536;
constexpr std::size_t kParkedHead = 256, kParkedTail = 768;

// Leaves out whole lines in the middle.
void cut_text(std::string& text, std::size_t head, std::size_t tail) {
  if (text.size() <= head + tail) return;
  std::size_t from = text.rfind('\n', head);
  from = from == std::string::npos ? head : from + 1;
  std::size_t to = text.find('\n', text.size() - tail);
  to = to == std::string::npos ? text.size() - tail : to + 1;
  if (to > from) text.erase(from, to - from);
}

void append_text(OpenRecord& record, std::string_view body) {
  record.text += '\n';
  record.text.append(body.substr(0, kMaxText / 2));
  if (record.text.size() > kMaxText) cut_text(record.text, kKeptHead, kKeptTail);
}

void open(OpenRecord& record, Kind kind, std::uint8_t phase, const Line& line,
          const RecordFacts& facts) {
  record.kind = kind;
  record.head = line.offset;
  record.severity = line.severity;
  record.callsite = line.callsite;
  record.lines = 1;
  record.bytes = line.length;
  record.last_observed = line.observed;
  record.rank = facts.rank;
  record.phase = phase;
  record.text.assign(facts.body.substr(0, kMaxText / 2));
}

void close(OpenRecord& record) {
  record.kind = Kind::none;
  record.phase = 0;
}

Fit fit(const Line& line, const RecordFacts& facts, OpenRecord& record) {
  const UnixNanos quiet = line.observed - record.last_observed;
  if (!record.open() || record.rank != facts.rank) return Fit::no;
  switch (record.kind) {
    case Kind::header:
    case Kind::overflow: break;
    case Kind::signal:
      if (!facts.report_row || quiet > kShapeQuiet) return Fit::no;
      return facts.body.ends_with("*** End of error message ***") ? Fit::last : Fit::yes;
    default:
      return quiet > kShapeQuiet ? Fit::no : fit_shape(record.kind, record.phase, facts.body);
  }
  if (facts.has_iteration || facts.stands_alone || quiet > kQuiet) return Fit::no;
  // A block that a header opened has no shape of its own; where it ends with an empty line, as
  // DistributedDataParallel's does, rules see it.
  return facts.body.empty() && record.lines > 1 ? Fit::complete : Fit::yes;
}

// A frame of a traceback whose every line has a header (vLLM).
bool logged_frame(const OpenRecord& record, std::string_view body) {
  return record.kind == Kind::header && record.phase == kLoggedTraceback && is_indented(body);
}

Joined begin(Line& line, const RecordFacts& facts, OpenRecord& record) {
  if (facts.has_header) {
    // Rows of a report whose beginning was not seen are records of their own.
    const bool signal =
        line.severity == Severity::fatal && facts.body.ends_with("*** Process received signal ***");
    const bool logged = begins_traceback(facts.body) || logged_frame(record, facts.body);
    open(record, signal ? Kind::signal : Kind::header, logged ? kLoggedTraceback : 0, line, facts);
    return Joined::plain;
  }
  const auto shape = begins_shape(facts.body);
  line.severity = std::max(line.severity, shape->severity);
  open(record, shape->kind, shape->phase, line, facts);
  return Joined::plain;
}

// True when a line without header begins a record of its own, whatever is open.
bool begins_own(const RecordFacts& facts, const OpenRecord& record) {
  const auto shape = begins_shape(facts.body);
  if (!shape) return false;
  switch (shape->kind) {
    // What a header announces and prints behind it belongs to the header.
    case Kind::printed:
    case Kind::arguments: return record.kind != Kind::header;
    // The threads of one dump; the frames of a traceback.
    case Kind::faulthandler: return record.kind != Kind::faulthandler;
    case Kind::native: return record.kind != Kind::native;
    case Kind::traceback: return !is_indented(facts.body) || !record.open();
    default: return true;
  }
}

}  // namespace

bool begins_traceback(std::string_view body) {
  return body.starts_with("Traceback (most recent call last):") ||
         body.starts_with("  + Exception Group Traceback (most recent call last):");
}

bool is_traceback_frame(const OpenRecord& record, const RecordFacts& facts) {
  if (facts.has_header) return logged_frame(record, facts.body);
  if (record.kind == Kind::group) return is_indented(without_margin(facts.body));
  return (record.kind == Kind::traceback || record.kind == Kind::faulthandler) &&
         is_indented(facts.body);
}

OpenRecord& record_of(ParserState& state, std::optional<std::int32_t> rank) {
  auto& parked = state.parked;
  const bool open = state.record.open();
  if (open && state.record.rank == rank) return state.record;
  if (open) cut_text(state.record.text, kParkedHead, kParkedTail);
  const auto found = std::find_if(parked.begin(), parked.end(),
                                  [&](const OpenRecord& record) { return record.rank == rank; });
  if (found != parked.end()) {
    std::swap(state.record, *found);
    if (!open) {
      if (found + 1 != parked.end()) std::swap(*found, parked.back());
      parked.pop_back();
    }
    return state.record;
  }
  if (open) parked.push_back(std::move(state.record));
  if (parked.size() >= kMaxOpenRecords) {
    parked.erase(std::min_element(parked.begin(), parked.end(), [](const auto& a, const auto& b) {
      return a.last_observed < b.last_observed;
    }));
  }
  close(state.record);
  state.record.rank = rank;
  return state.record;
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

Joined join_record(Line& line, const RecordFacts& facts, OpenRecord& record) {
  line.head = line.offset;
  const bool row = facts.report_row && record.kind == Kind::signal;
  const bool nvrm = record.kind == Kind::nvrm && facts.has_header;
  if (facts.has_header && !row && !nvrm) return begin(line, facts, record);
  // Redraws of a progress bar come between the lines of a record without being part of it.
  if (line.has(line_flag::progress)) return Joined::plain;

  Fit fits = Fit::no;
  const bool linked =
      record.kind == Kind::traceback && !facts.has_header && record.rank == facts.rank;
  if (linked) fits = fit(line, facts, record);
  if (fits == Fit::no && !facts.has_header && begins_own(facts, record))
    return begin(line, facts, record);
  if (!linked) fits = fit(line, facts, record);
  if (fits == Fit::no) {
    close(record);
    return facts.has_header ? begin(line, facts, record) : Joined::plain;
  }
  line.flags |= line_flag::continuation;
  if (record.lines >= kMaxRecordLines || record.bytes >= kMaxRecordBytes) {
    if (!shape_shows(record.kind, record.phase)) {
      // Too long to be one record: what follows hangs together, but says nothing of the old head.
      open(record, Kind::overflow, 0, line, facts);
      return Joined::plain;
    }
    // Each line shows that it is one of the shape: only the head is new.
    record.head = line.offset;
    record.lines = 0;
    record.bytes = 0;
  }
  line.head = record.head;
  if (fits != Fit::silent) inherit_fields(line, record.severity, record.callsite);
  ++record.lines;
  record.bytes += line.length;
  record.last_observed = line.observed;  // also when the clock was set back
  const auto body = record.kind == Kind::group ? without_margin(facts.body) : facts.body;
  if (fits == Fit::restart) {
    record.text.assign(body.substr(0, kMaxText / 2));
  } else {
    if (fits == Fit::tail) record.text.erase(0, record.text.rfind('\n') + 1);
    append_text(record, body);
  }
  if (fits == Fit::last) close(record);
  return fits == Fit::last || fits == Fit::complete ? Joined::complete : Joined::plain;
}

}  // namespace logarithm
