#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/line/log_time.h"
#include "common/line/stream_parser.h"
#include "common/rules/rule_set.h"

// The shapes of formats.jsonl whose values come from a logger's header.
namespace logarithm {
namespace {

using Json = nlohmann::json;

constexpr UnixNanos kMarch = 1'772'604'000'000'000'000;  // 2026-03-04T06:00:00Z

Line parse(const std::string& text) {
  std::vector<RuleProblem> problems;
  static const auto rules = RuleSet::build({}, problems);
  LongLinePool pool;
  StreamContext context;
  context.utc_offset_minutes = 0;
  context.imported = true;
  auto parser = StreamParser::make(context, *rules, pool, 0, "");
  ParsedLines out;
  (*parser)->feed(text + "\n", kMarch, out);
  REQUIRE(out.lines.size() == 1);
  return std::move(out.lines[0]);
}

const MetaPair* meta(const Line& line, const std::string& key) {
  for (const MetaPair& pair : line.meta) {
    if (pair.key == key) return &pair;
  }
  return nullptr;
}

void check_time(const Line& line, const std::string& printed) {
  std::size_t at = 0;
  PrintedTime time;
  REQUIRE(read_time(printed, at, time));
  CHECK(at == printed.size());
  CHECK_FALSE(line.has(line_flag::derived_time));
  CHECK(line.time == as_utc(time, kMarch, kMarch));
}

void check_meta(const Line& line, const std::string& key, const Json& value, bool integer) {
  const MetaPair* pair = meta(line, key);
  if (value.is_null()) {
    CHECK(pair == nullptr);
    return;
  }
  REQUIRE(pair != nullptr);
  if (integer) {
    REQUIRE(std::holds_alternative<std::int64_t>(pair->value));
    CHECK(std::get<std::int64_t>(pair->value) == std::stoll(value.get<std::string>()));
  } else {
    REQUIRE(std::holds_alternative<std::string>(pair->value));
    CHECK(std::get<std::string>(pair->value) == value.get<std::string>());
  }
}

void check_values(const Line& line, const Json& shape, const Json& expect) {
  const Json types = shape.value("types", Json::object());
  for (const auto& [key, value] : expect.items()) {
    CAPTURE(key);
    const std::string text = value.is_null() ? "" : value.get<std::string>();
    if (key == "severity") {
      CHECK(line.severity == parse_severity(text));
    } else if (key == "msg") {
      CHECK(text_of(line).find(text) != std::string::npos);
    } else if (key == "ts") {
      if (!value.is_null()) check_time(line, text);
    } else if (key == "file") {
      if (!value.is_null()) CHECK(line.callsite == text + ":" + std::string(expect["line"]));
    } else if (key == "time" && !value.is_null()) {
      const Json year = expect.value("year", Json());
      std::string month = expect["month"];
      if (month.size() == 1) month.insert(0, "0");
      const std::string date = month + "/" + std::string(expect["day"]);
      check_time(line, (year.is_null() ? date : std::string(year) + "/" + date) + " " + text);
    } else if (key != "line" && key != "year" && key != "month" && key != "day" && key != "time") {
      check_meta(line, key, value, types.value(key, "") == "int");
    }
  }
  const Json derived = shape.value("derive", Json::object());
  if (derived.contains("severity")) {
    CHECK(line.severity == parse_severity(derived["severity"].get<std::string>()));
  }
}

}  // namespace

TEST_CASE("Formats: every value of every logger, of NCCL's own lines and of daemons comes out") {
  std::ifstream file(std::string(LGR_TEST_DATA) + "/data/formats.jsonl");
  REQUIRE(file.good());
  unsigned shapes = 0;
  for (std::string row; std::getline(file, row);) {
    const Json shape = Json::parse(row);
    const std::string group = shape["group"], id = shape["id"];
    if (group != "logger" && group != "daemon" && id != "nccl_info" && id != "nccl_warn") continue;
    ++shapes;
    for (std::size_t i = 0; i < shape["lines"].size(); ++i) {
      const std::string text = shape["lines"][i];
      CAPTURE(text);
      check_values(parse(text), shape, i == 0 ? shape["expect"] : shape["expect_more"][i - 1]);
    }
  }
  CHECK(shapes >= 19);
}

}  // namespace logarithm
