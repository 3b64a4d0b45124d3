#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/line/log_header.h"
#include "common/line/parser_state.h"
#include "common/line/record_joiner.h"

// Lines of several writers, with pauses: every head lies before its lines and is of the same
// writer, everything carried is bounded, and a joiner that was restarted anywhere joins the same.
// Each line of the input: one byte of choices, then the text.

namespace {

using namespace logarithm;

void check(bool condition) {
  if (!condition) std::abort();
}

Joined step(ParserState& state, Line& line, const RecordFacts& facts) {
  return join_record(line, facts, record_of(state, facts.rank));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  ParserState state, restarted;
  UnixNanos now = 1'796'040'000'000'000'000;
  std::uint64_t offset = 0;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const unsigned choice = text.empty() ? 0 : static_cast<unsigned char>(text[0]);
    if (!text.empty()) text.remove_prefix(1);
    now += choice % 16 == 7 ? 70'000'000'000 : choice % 16 == 3 ? 1'500'000'000 : 1'000'000;

    Line line;
    line.offset = offset;
    line.length = text.size() + 1;
    line.observed = now;
    if (choice % 16 == 9) line.flags |= line_flag::progress;
    RecordFacts facts;
    if (choice >= 128) facts.rank = static_cast<std::int32_t>(choice / 16 % 4);
    const auto header = parse_header(text);
    facts.has_header = header.has_value();
    facts.report_row = header && header->report_row;
    facts.body = header ? text.substr(header->size) : text;
    if (header) line.severity = header->severity;
    Line same = line;

    const Joined joined = step(state, line, facts);
    if (choice % 8 == 5) {
      auto decoded = decode_state(encode_state(restarted));
      check(decoded.ok());
      restarted = std::move(*decoded);
    }
    check(joined == step(restarted, same, facts));
    check(line.head == same.head && line.flags == same.flags && line.severity == same.severity);
    check(line.head <= line.offset);
    // What a closed record leaves is not kept.
    const bool read = state.record.open() || joined == Joined::complete;
    check(!read || state.record.text == restarted.record.text);
    check(line.has(line_flag::continuation) || line.head == line.offset);
    check(state.record.text.size() <= 8192 && state.parked.size() <= kMaxOpenRecords);
    offset += line.length;
  }
  // Damaged state is refused or understood.
  const auto damaged = decode_state(std::string_view(reinterpret_cast<const char*>(data), size));
  if (damaged.ok()) check(decode_state(encode_state(*damaged)).ok());
  return 0;
}
