#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "common/line/header_reader.h"
#include "common/line/log_header.h"
#include "common/line/log_time.h"

// Any bytes as a line: a header lies within it, and what it says are pieces of it. The input's
// lines as those of one stream: what a reader has learned changes nothing.

namespace {

using namespace logarithm;

constexpr UnixNanos kNow = 1'796'040'000'000'000'000;

void check(bool condition) {
  if (!condition) std::abort();
}

bool within(std::string_view piece, std::string_view text) {
  return piece.empty() ||
         (piece.data() >= text.data() && piece.data() + piece.size() <= text.data() + text.size());
}

void check_same(const std::optional<LogHeader>& a, const std::optional<LogHeader>& b) {
  check(a.has_value() == b.has_value());
  if (!a) return;
  check(a->size == b->size && a->severity == b->severity && a->level == b->level);
  check(a->file == b->file && a->file_line == b->file_line && a->field_count == b->field_count);
  for (std::size_t i = 0; i < a->field_count; ++i) {
    check(a->fields[i].key == b->fields[i].key && a->fields[i].value == b->fields[i].value);
  }
  check(a->time.has_value() == b->time.has_value());
  if (!a->time) return;
  check(as_utc(*a->time, kNow) == as_utc(*b->time, kNow) && a->time->uptime == b->time->uptime);
  check(a->time->utc_offset_minutes == b->time->utc_offset_minutes);
}

void check_stream(std::string_view lines) {
  HeaderReader reader;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const auto line = lines.substr(0, end);
    check_same(reader.read(line), parse_header(line));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto header = parse_header(text);
  std::size_t at = 0;
  PrintedTime time;
  if (read_time(text, at, time)) {
    check(at <= size && is_date(time));
    as_utc(time, kNow);
  }
  check_stream(text);
  if (!header) return 0;
  check(header->size <= size && header->field_count <= LogHeader::kMaxFields);
  check(within(header->level, text) && within(header->file, text));
  check(within(header->file_line, text));
  for (std::size_t i = 0; i < header->field_count; ++i) {
    check(within(header->fields[i].value, text));
    logarithm::MetaValue value;
    header->fields[i].put(value);
  }
  return 0;
}
