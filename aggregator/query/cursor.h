#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "aggregator/query/filters.h"
#include "aggregator/query/job_view.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

enum class Direction : std::uint8_t { forward = 0, backward = 1 };

// Where a page ended. Opaque to clients, bound to its query; relative times keep the value that
// they had on the first page.
struct Cursor {
  Direction direction = Direction::backward;
  std::uint64_t query_hash = 0;
  OrderKey after;
  std::optional<UnixNanos> start, end;
};

std::string to_text(const Cursor& cursor);
// Error{invalid} for anything that to_text() did not make.
Result<Cursor> parse_cursor(std::string_view text);

// Of the job and the filters, in any order of different names.
std::uint64_t hash_query(std::string_view job, const Params& params);

}  // namespace logarithm::aggregator
