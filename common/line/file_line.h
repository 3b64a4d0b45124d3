#pragma once

#include <cstdint>
#include <optional>

#include "common/line/line.h"
#include "common/line/log_time.h"

namespace logarithm {

// The file line that a segment lies in: a container's line holds several where a program redraws.
struct FileLine {
  bool unfinished = false;  // the segment before did not end it
  bool contained = false;   // a container runtime wrote it
  bool continues = false;   // ... and says that the next one of its output goes on with it
  Output output = Output::unset;
  bool operator==(const FileLine&) const = default;
};

// How a line came to be, beside its bytes.
struct LineOrigin {
  bool inside = false;       // does not begin its file line
  bool bytes_glued = false;  // the bytes before it left as a partial line
  bool piece_glued = false;  // the pieces before it left as a partial line
  bool continues = false;    // it leaves though pieces of it are still to come
  bool contained = false;
  Output output = Output::unset;    // the container's
  std::uint32_t prefix = 0;         // bytes of the container's wrapper in front of a plain line
  std::uint32_t piece_prefix = 0;   // ... and of any container's, in front of the text
  char flag = '\0';                 // CRI's P or F
  std::optional<PrintedTime> time;  // the container's
};

}  // namespace logarithm
