#include <cstddef>
#include <cstdint>
#include <string_view>

#include "aggregator/query/cursor.h"
#include "aggregator/query/filters.h"
#include "aggregator/query/logql_parser.h"
#include "common/base/assert.h"

// Whatever the bytes, queries, intervals and cursors parse or fail with a position inside.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace aggregator = logarithm::aggregator;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::size_t position = 0;
  auto query = aggregator::parse_logql(text, position);
  if (!query.ok()) LGR_ASSERT(position <= size);
  position = 0;
  auto intervals = aggregator::parse_intervals(text, position);
  if (!intervals.ok()) LGR_ASSERT(position <= size);
  auto cursor = aggregator::parse_cursor(text);
  if (cursor.ok()) LGR_ASSERT(aggregator::parse_cursor(aggregator::to_text(*cursor)).ok());
  return 0;
}
