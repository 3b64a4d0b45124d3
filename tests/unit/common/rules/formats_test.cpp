#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "common/line/stream_parser.h"
#include "common/rules/field_value.h"
#include "common/rules/rule_set.h"

// The shapes of tests/data/formats.jsonl that rules answer for, through the whole parser.
namespace logarithm {
namespace {

using nlohmann::json;

const RuleSet& shipped() {
  static const std::shared_ptr<const RuleSet> rules = [] {
    std::vector<RuleProblem> problems;
    auto built = RuleSet::build(RuleSet::shipped(), problems);
    for (const auto& problem : problems) FAIL(problem.to_string());
    return built;
  }();
  return *rules;
}

std::vector<json> shapes() {
  std::vector<json> out;
  std::ifstream file(std::string(LGR_TEST_DATA) + "/data/formats.jsonl");
  std::string line;
  while (std::getline(file, line)) out.push_back(json::parse(line));
  return out;
}

// All that was found on the lines of one example.
struct Found {
  std::vector<MetaPair> meta;
  std::vector<EventMark> events;
  Severity severity = Severity::unset;
  std::optional<std::int64_t> iteration;
  bool timed = false;
  std::set<std::string> callsites;
  std::vector<std::string> bodies;
};

// 2026-03-05 00:00 UTC
constexpr UnixNanos kObserved = 1'772'668'800'000'000'000;

Found read(const std::string& text) {
  Found found;
  LongLinePool pool;
  auto parser = StreamParser::make({}, shipped(), pool, 0, "");
  REQUIRE(parser.ok());
  ParsedLines out;
  (*parser)->feed(text + "\n", kObserved, out);
  (*parser)->flush(StreamParser::Flush::closed, kObserved, out);
  for (const Line& line : out.lines) {
    found.meta.insert(found.meta.end(), line.meta.begin(), line.meta.end());
    found.events.insert(found.events.end(), line.events.begin(), line.events.end());
    found.severity = std::max(found.severity, line.severity);
    if (line.iteration) found.iteration = line.iteration;
    if (!line.has(line_flag::derived_time)) found.timed = true;
    found.callsites.insert(line.callsite);
    found.bodies.push_back(body_of(line));
  }
  if (text.find('\n') != std::string::npos) {
    Extraction record;
    shipped().apply_record(text, "stdout", record);
    found.meta.insert(found.meta.begin(), record.meta.begin(), record.meta.end());
    found.events.insert(found.events.end(), record.events.begin(), record.events.end());
    if (record.severity) found.severity = std::max(found.severity, *record.severity);
    if (record.time) found.timed = true;
  }
  return found;
}

bool same(const MetaValue& value, const std::string& text) {
  if (const auto* word = std::get_if<std::string>(&value)) return *word == text;
  auto expected = parse_double(text);
  if (!expected) {
    const auto whole = parse_int(text, true);
    if (!whole) return false;
    expected = static_cast<double>(*whole);
  }
  const double number = std::holds_alternative<double>(value)
                            ? std::get<double>(value)
                            : static_cast<double>(std::get<std::int64_t>(value));
  return number == *expected || (std::isnan(number) && std::isnan(*expected));
}

const MetaPair* find(const Found& found, const std::string& key) {
  for (const auto& pair : found.meta) {
    if (pair.key == key) return &pair;
  }
  return nullptr;
}

bool has(const Found& found, const std::string& key, const std::string& text) {
  for (const auto& pair : found.meta) {
    if (pair.key == key && same(pair.value, text)) return true;
  }
  return false;
}

void check_expected(const Found& found, const json& expect) {
  for (const auto& [key, value] : expect.items()) {
    CAPTURE(key);
    if (value.is_null()) {
      if (key != "ts") CHECK(find(found, key) == nullptr);
      continue;
    }
    const std::string text = value.get<std::string>();
    CAPTURE(text);
    if (key == "ts") {
      CHECK(found.timed);
    } else if (key == "severity") {
      CHECK(found.severity == parse_severity(text));
    } else if (key == "iteration") {
      CHECK(found.iteration == parse_int(text));
    } else if ((key == "file" || key == "line") && expect.contains("line")) {
      CHECK(found.callsites.count(expect["file"].get<std::string>() + ":" +
                                  expect["line"].get<std::string>()) == 1);
    } else if (key == "msg" && !has(found, key, text)) {
      // What is left of a header is the body.
      CHECK(std::any_of(found.bodies.begin(), found.bodies.end(),
                        [&](const std::string& body) { return body.find(text) == 0; }));
    } else if (key != "logger") {  // belongs to the header
      CHECK(has(found, key, text));
    }
  }
}

}  // namespace

TEST_CASE("Formats: every value of the shapes that rules answer for comes out by its name") {
  const std::set<std::string> groups{"error", "nccl", "metric", "kernel", "daemon", "mapping"};
  int checked = 0;
  for (const json& shape : shapes()) {
    if (!groups.contains(shape["group"])) continue;
    CAPTURE(shape["id"].get<std::string>());
    const json& lines = shape["lines"];
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string text = lines[i];
      CAPTURE(text);
      const Found found = read(text);
      if (i == 0) {
        check_expected(found, shape["expect"]);
      } else if (shape.contains("expect_more") && shape["expect_more"].size() >= i) {
        check_expected(found, shape["expect_more"][i - 1]);
      }
      if (shape.contains("iter_expect") && i < shape["iter_expect"].size()) {
        for (const auto& [key, value] : shape["iter_expect"][i].items()) {
          CAPTURE(key);
          CHECK(has(found, metric_name(key), value.get<std::string>()));
        }
      }
      if (shape.contains("derive")) {
        for (const auto& [key, value] : shape["derive"].items()) {
          if (key == "severity") {
            CHECK(found.severity >= *parse_severity(value.get<std::string>()));
          } else {
            CHECK(has(found, key, value.get<std::string>()));
          }
        }
      }
      ++checked;
    }
  }
  CHECK(checked > 80);
}

TEST_CASE("Formats: what is called error, nccl or kernel is an event, but for its mere details") {
  // Frames and rows belong to an event that another line of their record marks; NCCL's INFO lines
  // are thousands a start.
  const std::set<std::string> details{"err_elastic_row", "err_py_frame", "err_c10_frame",
                                      "nccl_info"};
  for (const json& shape : shapes()) {
    const std::string group = shape["group"], id = shape["id"];
    if (group != "error" && group != "nccl" && group != "kernel") continue;
    if (details.contains(id)) continue;
    CAPTURE(id);
    CHECK_FALSE(read(shape["lines"][0]).events.empty());
  }
}

TEST_CASE("Formats: a step is the line's iteration and keeps its name") {
  struct Case {
    const char *id, *key;
    std::int64_t iteration;
  };
  const Case cases[] = {
      {"met_ds_step", "step", 120},      {"met_torchtitan", "step", 120},
      {"met_verl", "step", 12},          {"met_kv", "step", 1200},
      {"met_jsonl", "step", 40},         {"met_lightning_bar", "global_step", 3420},
      {"met_jsonl", "current_steps", 40}};
  const auto all = shapes();
  for (const Case& c : cases) {
    CAPTURE(std::string(c.id));
    const auto shape =
        std::find_if(all.begin(), all.end(), [&](const json& one) { return one["id"] == c.id; });
    REQUIRE(shape != all.end());
    const Found found = read((*shape)["lines"][0]);
    CHECK(found.iteration == c.iteration);
    CHECK(has(found, c.key, std::to_string(c.iteration)));
  }
}

}  // namespace logarithm
