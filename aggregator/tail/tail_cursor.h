#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "aggregator/tail/unsent.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

// What a tail has sent: per stream, not by time, because lines arrive late and out of the order of
// time. Opaque to clients, bound to its query. About 10 bytes a stream, a third more as text.
struct TailCursor {
  std::uint64_t query_hash = 0;
  std::optional<UnixNanos> start, end;      // relative times keep the value that they had at first
  std::map<std::uint64_t, Unsent> streams;  // by stream_key()
};

// 48 bits that stand for a stream in a cursor.
std::uint64_t stream_key(const StreamId& stream);

std::string to_text(const TailCursor& cursor);
// Error{invalid} for anything that to_text() did not make.
Result<TailCursor> parse_tail_cursor(std::string_view text);

}  // namespace logarithm::aggregator
