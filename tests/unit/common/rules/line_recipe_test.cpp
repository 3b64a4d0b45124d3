#include "common/rules/line_recipe.h"

#include <doctest/doctest.h>

#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "common/line/digit_shape.h"
#include "common/line/stream_parser.h"
#include "common/line/template.h"

namespace logarithm {
namespace {

std::shared_ptr<const RuleSet> build(const std::vector<RuleSet::Source>& sources) {
  std::vector<RuleProblem> problems;
  // Nothing is timed: timed lines run their rules.
  RuleSet::Options options;
  options.sample_every = 1u << 30;
  auto rules = RuleSet::build(sources, problems, options);
  for (const auto& problem : problems) FAIL(problem.to_string());
  return rules;
}
std::shared_ptr<const RuleSet> build(const std::string& yaml) {
  return build(std::vector<RuleSet::Source>{{"test.yaml", yaml}});
}

bool same(const MetaValue& a, const MetaValue& b) {
  if (a.index() != b.index()) return false;
  if (!std::holds_alternative<double>(a)) return a == b;
  return std::bit_cast<std::uint64_t>(std::get<double>(a)) ==
         std::bit_cast<std::uint64_t>(std::get<double>(b));
}

void check_same(const Extraction& a, const Extraction& b) {
  REQUIRE(a.meta.size() == b.meta.size());
  for (std::size_t i = 0; i < a.meta.size(); ++i) {
    CAPTURE(a.meta[i].key);
    CHECK(a.meta[i].key == b.meta[i].key);
    CHECK(same(a.meta[i].value, b.meta[i].value));
    CHECK(a.meta[i].point == b.meta[i].point);
  }
  CHECK(a.events == b.events);
  CHECK(a.severity == b.severity);
  CHECK(a.iteration == b.iteration);
  CHECK(a.carry_iteration == b.carry_iteration);
  CHECK(a.callsite == b.callsite);
  CHECK(a.mapping == b.mapping);
  REQUIRE(a.time.has_value() == b.time.has_value());
  if (a.time) CHECK(as_utc(*a.time, 0) == as_utc(*b.time, 0));
}

// Bodies of all shapes of formats.jsonl, and lines that rules of one kind or another read.
std::vector<std::string> bodies() {
  std::vector<std::string> out{
      "iteration 12 | loss 0.5 | 5,856 tokens | epoch: 3 | acc1 0.5",
      "iteration 1,234 | loss 0.5",
      "iteration 1,23 | loss 0.5",
      "Step 12,345: loss 0.5",
      "global_step=1,234,567,8 loss=0.5",
      "step=12 loss=nan lr=1e-4 grad_norm=inf",
      "iter: 12 eta: 1:02:11 loss: 2.3 elapsed: 0:00:12.5 tokens: 22.8K took: 1 day, 2:03:04 x: "
      "3:07",
      "{'loss': 6.2, 'epoch': 0.12, 'step': 12, 'note': 'a12', 'ok': True, 'x': None}",
      "{\"step\": 12, \"loss\": 1e30, \"lr\": \"0.5\", \"when\": \"2026-03-04 05:06:07\", \"a1\": "
      "2}",
      "Xid 79 on device 3, errno 98, exitcode: -9 (pid: 4711) of local_rank: 3",
      "mlx5_0: port 1 at 0x1f, 1x3 and 0x3",
      ""};
  const auto no_rules = build(std::vector<RuleSet::Source>{});
  std::ifstream file(std::string(LGR_TEST_DATA) + "/data/formats.jsonl");
  for (std::string text; std::getline(file, text);) {
    const auto shape = nlohmann::json::parse(text);
    for (const std::string lines : shape["lines"]) {
      LongLinePool pool;
      auto parser = StreamParser::make({}, *no_rules, pool, 0, "");
      ParsedLines parsed;
      (*parser)->feed(lines + "\n", 1'772'668'800'000'000'000, parsed);
      (*parser)->flush(StreamParser::Flush::closed, 1'772'668'800'000'000'000, parsed);
      for (const Line& line : parsed.lines) {
        out.push_back(body_of(line));
        out.push_back(text_of(line));
      }
    }
  }
  return out;
}

// The same shape, other digits; now and then many nines, or zeros.
std::string other_digits(std::string text, std::mt19937& random) {
  const unsigned kind = random() % 4;
  for (char& c : text) {
    if (c < '0' || c > '9') continue;
    c = static_cast<char>(kind == 0 ? '9' : kind == 1 ? '0' : '0' + random() % 10);
  }
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Other digits, and numbers of other widths: some of them, most of them, or very long ones.
std::string other_widths(const std::string& text, std::mt19937& random) {
  std::string out;
  const unsigned kind = random() % 4;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i])) {
      out += text[i];
      continue;
    }
    const bool first = i == 0 || !is_digit(text[i - 1]);
    if (kind != 0 || first || random() % 3 != 0) out += static_cast<char>('0' + random() % 10);
    const bool longer = random() % (kind == 1 ? 2 : 5) == 0;
    const auto more = !longer ? 0 : kind == 3 ? random() % 24 : 1 + random() % 3;
    for (auto k = more; k > 0; --k) out += static_cast<char>('0' + random() % 10);
  }
  return out;
}

// Reads `body` often enough for its shape to be known.
void teach(const RuleSet& rules, const std::string& body) {
  Extraction found;
  for (int i = 0; i < 3; ++i) rules.read(body, "stdout", found);
}

}  // namespace

TEST_CASE("Recipes: what a line of a known shape gives is what the rules find, for any digits") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto rules = build(RuleSet::shipped());
  for (const std::string& body : bodies()) {
    teach(*rules, body);
    for (int i = 0; i < 12; ++i) {
      const std::string other = i == 0 ? body : other_digits(body, random);
      CAPTURE(other);
      Extraction quick, plain;
      CHECK(rules->read(other, "stdout", quick) == template_of(other));
      rules->apply(other, "stdout", plain);
      check_same(quick, plain);
    }
  }
}

TEST_CASE("Recipes: numbers of other widths give what the rules find") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto rules = build(RuleSet::shipped());
  for (const std::string& body : bodies()) {
    for (int i = 0; i < 24; ++i) {
      const std::string other = i < 3 ? body : other_widths(body, random);
      CAPTURE(body);
      CAPTURE(other);
      Extraction quick, plain;
      CHECK(rules->read(other, "stdout", quick) == template_of(other));
      rules->apply(other, "stdout", plain);
      check_same(quick, plain);
    }
  }
}

TEST_CASE("Recipes: a pattern that counts digits decides line by line") {
  const auto rules = build(R"(rules:
  - name: code
    match: '^code (?P<code>\d{3}) of (?P<all>\d+)'
    fields: {code: int, all: int}
  - name: middle
    match: '^id \d(?P<rest>\d*) (?P<n>\d+)'
    fields: {rest: int, n: int}
)");
  teach(*rules, "code 123 of 12");
  teach(*rules, "id 12 7");
  Extraction found;
  rules->read("code 999 of 4711", "stdout", found);
  REQUIRE(found.meta.size() == 2);
  CHECK(std::get<std::int64_t>(found.meta[1].value) == 4711);
  for (const char* other : {"code 12 of 12", "code 1234 of 12"}) {
    rules->read(other, "stdout", found);
    CHECK(found.meta.empty());
  }
  rules->read("id 345 78", "stdout", found);
  REQUIRE(found.meta.size() == 2);
  CHECK(std::get<std::int64_t>(found.meta[0].value) == 45);
  CHECK(std::get<std::int64_t>(found.meta[1].value) == 78);
}

TEST_CASE("Recipes: bodies that any rule could read give what the rules find") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto rules = build(RuleSet::shipped());
  const auto all = bodies();
  for (int round = 0; round < 400; ++round) {
    // Two halves of lines, and a byte changed: shapes that nobody thought of.
    const std::string &a = all[random() % all.size()], &b = all[random() % all.size()];
    std::string body = a.substr(0, random() % (a.size() + 1)) + b.substr(b.size() / 2);
    if (!body.empty()) body[random() % body.size()] = " 0x1,:|={}'\"\\(-e."[random() % 17];
    teach(*rules, body);
    for (int i = 0; i < 8; ++i) {
      const std::string other =
          i % 2 == 0 ? other_digits(body, random) : other_widths(body, random);
      CAPTURE(other);
      Extraction quick, plain;
      CHECK(rules->read(other, "stdout", quick) == template_of(other));
      rules->apply(other, "stdout", plain);
      check_same(quick, plain);
    }
  }
}

TEST_CASE("Recipes: a rule that asks for a digit's value decides line by line") {
  const auto rules = build(R"(rules:
  - name: xid
    match: 'Xid (?P<code>[1-9]\d)'
    fields: {code: int}
  - name: net
    match: 'mlx5_(?P<port>\d)'
    fields: {port: int}
)");
  teach(*rules, "Xid 79");
  teach(*rules, "mlx5_0 up");
  Extraction found;
  rules->read("Xid 09", "stdout", found);
  CHECK(found.meta.empty());
  rules->read("Xid 31", "stdout", found);
  REQUIRE(found.meta.size() == 1);
  rules->read("mlx6_0 up", "stdout", found);
  CHECK(found.meta.empty());
}

TEST_CASE("Recipes: rules of one stream say nothing on another") {
  const auto rules = build(R"(rules:
  - name: oom
    streams: [kernel]
    match: 'killed process (?P<pid>\d+)'
    fields: {pid: int}
)");
  Extraction found;
  for (int i = 0; i < 4; ++i) {
    rules->read("killed process 12", "kernel", found);
    CHECK(found.meta.size() == 1);
    rules->read("killed process 12", "stdout", found);
    CHECK(found.meta.empty());
  }
}

TEST_CASE("Shape: digits are ones, but the zero of 0x stays") {
  const std::string text = "0x1f 1x3 00X 2026-03-04T05:06:07.891234 a9\xFF:/;<=>? 0x";
  std::string shape(text.size(), '\0');
  fold_digits(text, shape.data());
  CHECK(shape == "0x1f 1x1 10X 1111-11-11T11:11:11.111111 a1\xFF:/;<=>? 0x");
}

}  // namespace logarithm
