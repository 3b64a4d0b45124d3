#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/line/line.h"
#include "common/line/log_time.h"

namespace logarithm {

// What a logger printed in front of its message. Views into the text that was parsed.
struct LogHeader {
  // What the header says beside time, level and place: pid, tid, logger, module, func, rank (a
  // mention) …
  enum class Kind : std::uint8_t { text, integer, real };
  struct Field {
    std::string_view key, value;
    Kind kind = Kind::text;
    void put(MetaValue& to) const;  // the value as its kind; as a text where it is none
  };
  static constexpr std::size_t kMaxFields = 8;

  // Bytes of the header, the blank before the message included. 0 where the message is the whole
  // line: JSON, and programs that print `name: error: text`.
  std::size_t size = 0;
  std::optional<PrintedTime> time;
  Severity severity = Severity::unset;
  std::string_view level;      // as printed: "INFO", "W"
  std::string_view file;       // call site; empty when none was printed
  std::string_view file_line;  // its digits
  std::array<Field, kMaxFields> fields;
  std::size_t field_count = 0;
  bool report_row = false;  // one row of a report of several lines, not its first

  // Ignored when there is no room or no value.
  void add(std::string_view key, std::string_view value, bool integer = false);
};

// Recognises the header at the start of `text`: see README.md, "Headers". nullopt: no header. A
// pure function of the text that looks at its first 512 bytes (JSON: 16 KiB; DCGM's call site: its
// end).
std::optional<LogHeader> parse_header(std::string_view text);

// For text that starts with `[rankN]:` (PyTorch's prefix): N and the length of the prefix, one
// blank behind it included.
struct RankPrefix {
  std::int32_t rank = 0;
  std::size_t size = 0;
};
std::optional<RankPrefix> parse_rank_prefix(std::string_view text);

// The rank that a program itself prints in front of everything: `[Rank 4] text`, `(rank 4)`,
// `[rank:4]`, `rank=4 step=12`. It stays in the text.
std::optional<std::int32_t> parse_bare_rank(std::string_view text);

}  // namespace logarithm
