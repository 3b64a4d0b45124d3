#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/line/line.h"
#include "common/line/log_time.h"

namespace logarithm {

// How a line's text lies in its raw bytes: the values of Line::transport. Stored, so they never
// change; a value that a reader does not know means `plain`.
namespace transport {
inline constexpr std::uint8_t plain = 0;         // the raw bytes
inline constexpr std::uint8_t docker_json = 1;   // `log` of each piece's object, joined
inline constexpr std::uint8_t pieces = 2;        // each piece from its prefix on, joined
inline constexpr std::uint8_t journal_json = 3;  // MESSAGE of the object
}  // namespace transport

// A line of Docker's json-file driver. Views are JSON-escaped.
struct DockerLine {
  std::string_view log;
  Output output = Output::unset;
  std::optional<PrintedTime> time;
  bool ends = false;  // with a newline: the next piece begins another line
};
std::optional<DockerLine> parse_docker(std::string_view raw);

// A line of `journalctl -o json` whose MESSAGE is text.
struct JournalLine {
  std::string_view message;                           // JSON-escaped, like the next two
  std::string_view host, unit;                        // empty when not there
  std::optional<std::int64_t> pid, priority, micros;  // since the epoch
};
std::optional<JournalLine> parse_journal(std::string_view raw);

// The decoded text of a line whose `transport` is not plain; escape sequences are still in it. What
// cannot be decoded is given as it is: stored bytes may be damaged.
std::string decode_transport(std::string_view raw, std::uint8_t transport,
                             const std::vector<Extent>& extents);

}  // namespace logarithm
