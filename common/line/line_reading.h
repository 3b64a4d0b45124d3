#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/line/digit_trace.h"
#include "common/line/log_header.h"
#include "common/line/unwrap_steps.h"
#include "common/rules/rule_set.h"

namespace logarithm {

// What all lines of one digit shape have in common, as places in them: wrappers, header, message,
// and what the rules know of the message. Holds for a line with other digits when the times in it
// are read as they were.
class LineReading {
 public:
  static constexpr std::size_t kLongest = 512;  // bytes of a line that is worth one

  // Reads `line` (the text behind a container's wrapper, without escape sequences) as `mode` says.
  // nullopt where the values of digits decide more than is checked here.
  static std::optional<LineReading> make(std::string_view line, const UnwrapMode& mode,
                                         const KnownHosts& hosts);

  // False when digits decide otherwise in `line`, which has the shape. Else `header` is what
  // parse_header() finds behind the wrappers, if has_header().
  bool read(std::string_view line, LogHeader& header) const;

  // Bytes that unwrap() finds.
  std::size_t wrapped() const { return wrapped_; }
  // What unwrap() finds in `line`, if not knows_host(). False when it has to be asked.
  bool unwrap(std::string_view line, Wrapped& out) const {
    return repeats_ && repeat_unwrap(line, steps_, out);
  }
  // What is behind the wrappers begins like a host's line, and the host is one of `hosts`.
  bool knows_host(std::string_view line, const KnownHosts& hosts) const {
    return host_size_ > 0 && !hosts.hashes.empty() &&
           hosts.contains(line.substr(wrapped_, host_size_));
  }
  bool has_header() const { return has_header_; }
  std::size_t message_begin() const { return wrapped_ + header_size_; }
  // Of memory beside its own, without what the rules know.
  std::size_t bytes() const {
    return steps_.capacity() * sizeof(steps_[0]) + probes_.capacity() * sizeof(probes_[0]) +
           digits_.capacity() * sizeof(digits_[0]) + fields_.capacity() * sizeof(fields_[0]);
  }

  RuleSet::Known body;
  // Said of the whole line, where it is all of its raw bytes.
  bool holds_no_secret = false, valid_utf8 = true;

 private:
  struct Span {
    std::uint16_t begin = 0, size = 0;
    std::string_view of(std::string_view line) const { return line.substr(begin, size); }
  };
  struct Field {
    std::string_view key;  // a constant
    Span value;
    LogHeader::Kind kind = LogHeader::Kind::text;
  };
  static constexpr std::uint8_t kNoTime = 0xFF;

  bool take_header(std::string_view line, const LogHeader& header, const DigitTrace& trace);
  bool take_time(const PrintedTime& time, const DigitTrace& trace);

  std::vector<UnwrapStep> steps_;
  std::vector<TimeProbe> probes_;
  std::vector<std::pair<std::uint16_t, char>> digits_;  // that have to be what they were
  std::vector<Field> fields_;
  std::uint16_t wrapped_ = 0, header_size_ = 0, host_size_ = 0;
  Span level_, file_, file_line_;
  Severity severity_ = Severity::unset;
  std::uint8_t time_from_ = kNoTime;  // which probe
  bool has_header_ = false, report_row_ = false, repeats_ = true;
};

}  // namespace logarithm
