#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace logarithm::cli {

// One message of /api/v1/tail. The lines are views into the message: they are JSON objects as the
// server sent them.
struct TailMessage {
  std::vector<std::string_view> lines;
  std::string cursor;
  bool live = false;  // there was no more at that moment
  std::uint64_t skipped = 0, unreadable = 0;
  // The server ends the tail. Error{unavailable}: it may be tried again.
  std::optional<Error> error;
};

// Error{corrupt} for what is no such message.
Result<TailMessage> parse_tail_message(std::string_view text);

}  // namespace logarithm::cli
