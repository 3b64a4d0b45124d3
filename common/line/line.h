#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/types.h"

namespace logarithm {

enum class Terminator : std::uint8_t { none = 0, lf = 1, crlf = 2, cr = 3 };
enum class Severity : std::uint8_t { unset = 0, trace, debug, info, warning, error, fatal };
// Which output inside one container file; set by a wrapper only.
enum class Output : std::uint8_t { unset = 0, out = 1, err = 2 };

std::string_view to_string(Severity severity);                  // "" for unset
std::optional<Severity> parse_severity(std::string_view word);  // any case; WARN, CRITICAL, I, …
std::string_view bytes_of(Terminator terminator);               // "", "\n", "\r\n", "\r"

// Bits of Line::flags; stored as they are, so values never change.
namespace line_flag {
inline constexpr std::uint32_t progress = 1u << 0;  // ended by \r: a redraw
inline constexpr std::uint32_t partial = 1u << 1;   // sent before its end was seen
inline constexpr std::uint32_t glued = 1u
                                       << 2;  // continues the bytes before it, no newline between
inline constexpr std::uint32_t continuation = 1u << 3;  // a later line of the record of `head`
inline constexpr std::uint32_t derived_time = 1u << 4;  // `time` was not parsed from this line
inline constexpr std::uint32_t time_suspect = 1u
                                              << 5;  // a parsed time outside the window, not used
inline constexpr std::uint32_t derived_iteration = 1u << 6;  // carried from an earlier line
inline constexpr std::uint32_t derived_fields =
    1u << 7;  // severity, call site inherited from the head
inline constexpr std::uint32_t rank_mismatch = 1u << 8;  // a wrapper disagrees with the process
inline constexpr std::uint32_t invalid_utf8 = 1u << 9;
inline constexpr std::uint32_t truncated = 1u << 10;  // bytes left out (line_too_long)
inline constexpr std::uint32_t redacted = 1u << 11;
inline constexpr std::uint32_t recovered = 1u << 12;  // read from a damaged source
inline constexpr std::uint32_t ansi = 1u << 13;       // raw holds escape sequences, once decoded
}  // namespace line_flag

using MetaValue = std::variant<std::int64_t, double, std::string>;

// One typed pair. A key may appear with several types; a column is (key, type).
struct MetaPair {
  std::string key;
  MetaValue value;
  bool point = false;  // also a point of a telemetry series
};

// What a rule marked on a line.
struct EventMark {
  std::string rule, kind, klass;
  bool operator==(const EventMark&) const = default;
};

// A line that tells another process's place in the job (`maps: process`).
struct ProcessMapping {
  std::optional<std::int32_t> pid;  // absent: the process that wrote the line
  std::string host;                 // host name or address as printed; empty: this host
  std::optional<std::int32_t> rank, local_rank, group_rank, world_size;
  bool operator==(const ProcessMapping&) const = default;
};

// One piece of a joined line (CRI `P`, docker 16 KiB): where it lay in the file.
struct Extent {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;  // bytes in the file, wrapper and terminator included
  std::uint32_t prefix = 0;  // wrapper bytes in front of the piece
  bool operator==(const Extent&) const = default;
};

// One line, immutable once made. Its key is (stream, offset).
//
// `raw` are the kept bytes without the terminator; of a joined line, the bytes of all its pieces,
// wrappers and inner terminators included, as `extents` say where they lie in the file. Let S be
// the plain text: raw, or what `transport` makes of it (see transport.h), without escape sequences
// (see ansi.h; none unless flag `ansi`). Then S is cut in four by three positions:
//   [0, text_begin)            transport wrappers (CRI, journal)
//   [text_begin, header_begin) launcher prefixes ("[rank3]:", "12: ", "[default3]:")
//   [header_begin, body_begin) the logger's header
//   [body_begin, end)          the body: what rules and templates see
// and text = S from text_begin.
struct Line {
  std::uint64_t offset = 0;
  // Bytes of the file from its first to its last: terminator and left-out bytes included, and lines
  // that came between the pieces of a joined one.
  std::uint64_t length = 0;
  std::string raw;
  Terminator terminator = Terminator::none;
  Output output = Output::unset;
  std::uint8_t transport = 0;  // how S lies in raw: see transport.h
  std::uint32_t flags = 0;
  std::uint32_t text_begin = 0, header_begin = 0, body_begin = 0;
  std::uint64_t head = 0;  // offset of the record's first line; == offset for a head
  UnixNanos time = 0;      // order time: parsed, else of the line before, else observed
  UnixNanos observed = 0;
  Severity severity = Severity::unset;
  std::string callsite;        // "file:line", empty when unknown
  TemplateId template_id = 0;  // fingerprint of the masked body
  std::optional<std::int32_t> wrapper_rank;
  std::optional<std::int64_t> iteration;
  std::vector<MetaPair> meta;
  std::vector<EventMark> events;
  std::vector<Extent> extents;  // ascending; empty unless pieces were joined

  bool has(std::uint32_t flag) const { return (flags & flag) != 0; }
  std::uint64_t end() const { return offset + length; }
};

// S of a line: decoded, without escape sequences, with all its wrappers that are text.
std::string plain_of(const Line& line);
// The `text` of a line in bytes (transport wrappers and ANSI gone). Invalid UTF-8 stays; see
// sanitize_utf8() for what REST shows.
std::string text_of(const Line& line);
// The `body`: text after all prefixes and the header.
std::string body_of(const Line& line);

}  // namespace logarithm
