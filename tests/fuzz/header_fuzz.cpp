#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/line/log_header.h"
#include "common/line/log_time.h"

// Any bytes as a line: a header lies within it, and what it says are pieces of it. A pure function:
// twice the same.

namespace {

using namespace logarithm;

void check(bool condition) {
  if (!condition) std::abort();
}

bool within(std::string_view piece, std::string_view text) {
  return piece.empty() ||
         (piece.data() >= text.data() && piece.data() + piece.size() <= text.data() + text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto header = parse_header(text);
  std::size_t at = 0;
  PrintedTime time;
  if (read_time(text, at, time)) {
    check(at <= size && is_date(time));
    as_utc(time, 1'796'040'000'000'000'000);
  }
  if (!header) return 0;
  check(header->size <= size && header->field_count <= LogHeader::kMaxFields);
  check(within(header->level, text) && within(header->file, text));
  check(within(header->file_line, text));
  for (std::size_t i = 0; i < header->field_count; ++i) {
    check(within(header->fields[i].value, text));
    header->fields[i].typed();
  }
  const auto again = parse_header(text);
  check(again && again->size == header->size && again->severity == header->severity);
  return 0;
}
