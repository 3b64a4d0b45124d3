#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/line/stream_parser.h"
#include "common/rules/rule_set.h"

// Any bytes, cut anywhere, flushed and restarted anywhere: lines and gaps cover the file exactly.
// The first bytes of the input choose the cuts, the rest is the file.

namespace {

using namespace logarithm;

constexpr UnixNanos kAt = 1'796'040'000'000'000'000;

void check(bool condition) {
  if (!condition) std::abort();
}

const RuleSet& shipped_rules() {
  static const std::shared_ptr<const RuleSet> rules = [] {
    std::vector<RuleProblem> problems;
    return RuleSet::build(RuleSet::shipped(), problems);
  }();
  return *rules;
}

std::unique_ptr<StreamParser> make(LongLinePool& pool, std::uint64_t position,
                                   std::string_view state) {
  auto made = StreamParser::make({}, shipped_rules(), pool, position, state);
  check(made.ok());
  return std::move(made).value();
}

void check_covers(const ParsedLines& parsed, std::string_view file) {
  std::uint64_t at = 0;
  std::size_t gap = 0;
  auto skip_gaps = [&](std::uint64_t to) {
    while (gap < parsed.gaps.size() && at < to && parsed.gaps[gap].from == at) {
      at = *parsed.gaps[gap++].to;
    }
  };
  for (const Line& line : parsed.lines) {
    skip_gaps(line.offset);
    check(line.offset == at);
    check(file.substr(at, line.raw.size()) == line.raw);
    std::uint64_t kept_end = at + line.raw.size();
    if (line.has(line_flag::truncated)) {  // what was left out lies before the terminator
      check(gap < parsed.gaps.size() && parsed.gaps[gap].from == kept_end);
      kept_end = *parsed.gaps[gap++].to;
    }
    const std::string_view terminator = bytes_of(line.terminator);
    check(file.substr(kept_end, terminator.size()) == terminator);
    check(line.end() == kept_end + terminator.size());
    at = line.end();
    check(line.body_begin <= line.raw.size() && line.head <= line.offset);
  }
  skip_gaps(file.size());
  check(at == file.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::size_t cuts = std::min<std::size_t>(size, 16);
  const std::string_view file(reinterpret_cast<const char*>(data) + cuts, size - cuts);
  LongLinePool pool(cuts > 0 && data[0] % 4 == 0 ? 0 : 8u << 20);
  ParsedLines out;
  auto parser = make(pool, 0, "");
  for (std::size_t turn = 0; parser->next_read() < file.size(); ++turn) {
    const unsigned choice = cuts > 0 ? data[turn % cuts] : 255u;
    const std::size_t left = file.size() - parser->next_read();
    const std::size_t length = choice == 255 ? left : std::min<std::size_t>(left, 1 + choice * 8);
    parser->feed(file.substr(parser->next_read(), length), kAt, out);
    if (choice % 5 == 1) parser->flush(StreamParser::Flush::idle, kAt, out);
    // Only after everything left: else a long unfinished line would never get done.
    if (choice % 7 == 2 && parser->position() == parser->next_read()) {
      parser = make(pool, parser->position(), parser->state());
    }
  }
  parser->flush(StreamParser::Flush::closed, kAt, out);
  check_covers(out, file);
  // Damaged state is refused or understood, never a crash.
  auto damaged = StreamParser::make({}, shipped_rules(), pool, 0, file.substr(0, 256));
  if (damaged.ok()) damaged.value()->feed(file, kAt, out);
  return 0;
}
