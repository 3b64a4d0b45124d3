#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/line/stream_parser.h"
#include "common/rules/rule_set.h"

namespace logarithm::test {

inline constexpr UnixNanos kSecond = 1'000'000'000;
inline constexpr UnixNanos kNoon = 1'772'600'767 * kSecond;  // 2026-03-04T05:06:07Z

// A parser without rules, in UTC, over one stream.
struct ParsedStream {
  explicit ParsedStream(StreamContext given = {}) : context(std::move(given)) {
    if (!context.utc_offset_minutes) context.utc_offset_minutes = 0;
    std::vector<RuleProblem> problems;
    rules = RuleSet::build({}, problems);
    restart(0, "");
  }
  void restart(std::uint64_t position, const std::string& state) {
    auto made = StreamParser::make(context, *rules, pool, position, state);
    REQUIRE(made.ok());
    parser = std::move(made).value();
  }
  // Lines pile up in `out`.
  std::vector<Line>& feed(std::string_view bytes, UnixNanos at = kNoon) {
    parser->feed(bytes, at, out);
    return out.lines;
  }
  std::vector<Line>& idle(UnixNanos at = kNoon) {
    parser->flush(StreamParser::Flush::idle, at, out);
    return out.lines;
  }
  std::vector<Line>& close(UnixNanos at = kNoon) {
    parser->flush(StreamParser::Flush::closed, at, out);
    return out.lines;
  }
  std::vector<Line>& whole(std::string_view bytes) {
    feed(bytes);
    return close();
  }

  StreamContext context;
  std::shared_ptr<const RuleSet> rules;
  LongLinePool pool;
  std::unique_ptr<StreamParser> parser;
  ParsedLines out;
};

inline const MetaValue* meta_of(const Line& line, std::string_view key) {
  for (const MetaPair& pair : line.meta) {
    if (pair.key == key) return &pair.value;
  }
  return nullptr;
}

// The value as text; "" when there is none.
inline std::string meta_text(const Line& line, std::string_view key) {
  const MetaValue* value = meta_of(line, key);
  if (value == nullptr) return "";
  if (const auto* number = std::get_if<std::int64_t>(value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(value)) {
    std::string text = std::to_string(*real);
    return text;
  }
  return std::get<std::string>(*value);
}

// What `export --output raw` makes of the lines: each piece where it lay in the file.
inline std::string exported(const std::vector<Line>& lines) {
  std::vector<std::pair<std::uint64_t, std::string>> pieces;
  for (const Line& line : lines) {
    std::string_view rest = line.raw;
    for (std::size_t i = 0; i + 1 < line.extents.size(); ++i) {
      REQUIRE(line.extents[i].length <= rest.size());
      pieces.emplace_back(line.extents[i].offset, rest.substr(0, line.extents[i].length));
      rest.remove_prefix(line.extents[i].length);
    }
    const auto at = line.extents.empty() ? line.offset : line.extents.back().offset;
    pieces.emplace_back(at, std::string(rest) + std::string(bytes_of(line.terminator)));
  }
  std::sort(pieces.begin(), pieces.end());
  std::string out;
  for (const auto& [offset, bytes] : pieces) out += bytes;
  return out;
}

}  // namespace logarithm::test
