#include "aggregator/query/logql_parser.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "aggregator/query/match.h"

namespace logarithm::aggregator {
namespace {

Predicate parsed(std::string_view query) {
  CAPTURE(query);
  std::size_t position = 0;
  auto predicate = parse_logql(query, position);
  REQUIRE_MESSAGE(predicate.ok(), predicate.error().to_string());
  return *predicate;
}

// The line that all questions below are about.
struct Fixture {
  StreamFacts facts;
  StreamAttributes attributes;
  StreamJoin join;
  std::string job = "j";
  Line line;

  Fixture() {
    facts.id.base = StreamBase{1, 2};
    attributes.host = "n1";
    attributes.name = "stdout";
    attributes.aliases = {"stderr"};
    join.job = &job;
    join.facts = &facts;
    join.attributes = &attributes;
    join.stream_text = to_text(facts.id);
    join.rank = 2;
    join.rank_is_fixed = true;
    line.offset = 7;
    line.raw = "step 60 loss nan \"quoted\" {brace}";
    line.severity = Severity::error;
    line.callsite = "train.py:42";
    line.iteration = 60;
    line.flags = line_flag::glued;
    line.meta = {{"loss", std::numeric_limits<double>::quiet_NaN(), false},
                 {"step", std::int64_t{60}, false},
                 {"step", std::string("sixty"), false},
                 {"rank", std::int64_t{9}, false},
                 {"lr", 0.5, false}};
  }

  bool matches(std::string_view query) {
    Row row(line, join);
    return aggregator::matches(parsed(query), row);
  }
};

}  // namespace

TEST_CASE("LogQL: selectors, line filters and label filters decide about a line") {
  Fixture f;
  const std::pair<const char*, bool> kCases[] = {
      {"", true},
      {"{}", true},
      {"  # only a comment", true},
      {R"({rank="2"})", true},
      {R"({rank="3"})", false},
      {R"({rank!="3", host=~"n[0-9]"})", true},
      {R"({host=~"n"})", false},  // anchored
      {R"({host!~"n"})", true},
      {R"({severity="error"})", true},
      {R"({severity="ERROR"})", true},
      {R"({severity="warning"})", false},
      {R"({stream="stdout"})", true},
      {R"({stream="stderr"})", true},  // alias
      {R"({flags="glued"})", true},
      {R"({flags="partial"})", false},
      {R"({missing=""})", true},
      {R"({missing!=""})", false},
      {R"({callsite="train.py:42"})", true},
      {R"({id="00000000000000010000000000000002.0:7"})", true},
      {R"(|= "loss")", true},
      {R"(|= `"quoted"`)", true},
      {R"(|= "\"quoted\" {brace}")", true},
      {R"(!= "loss")", false},
      {R"(|~ "l.ss")", true},
      {R"(!~ "^loss")", true},
      {R"(|= "nothing" or "step")", true},
      {R"(!= "nothing" or "step")", false},
      {R"(| iteration >= 60 |= "loss")", true},
      {R"(| iteration > 60)", false},
      {R"(| iteration >= 60 != "loss")", false},
      {R"(| iteration = 60)", true},
      {R"(| iteration == 60.0)", true},
      {R"(| iteration == 6e1)", true},
      {R"(| loss == NaN)", true},
      {R"(| loss > 1)", false},
      {R"(| loss < 1)", false},
      {R"(| loss != NaN)", false},
      {R"(| lr != NaN)", true},
      {R"(| lr > -Inf and lr < Inf)", true},
      {R"(| lr = "0.5")", true},
      {R"(| missing != 5)", false},
      {R"(| missing < 5)", false},
      {R"(| step = "sixty")", true},
      {R"(| step == 60)", true},
      {R"(| rank == 2)", true},
      {R"(| meta.rank == 9)", true},
      {R"(| rank == 3 or iteration == 60 and severity = "error")", true},
      {R"(| (rank == 3 or iteration == 60), severity = "info")", false},
      {R"({rank="2"} | iteration >= 60 |= "loss" | lr <= 0.5)", true},
      {R"(| text =~ ".*loss.*")", true},
      {R"(| text =~ "loss")", false},
  };
  for (const auto& [query, expected] : kCases) {
    CAPTURE(query);
    CHECK(f.matches(query) == expected);
  }
}

TEST_CASE("LogQL: an error carries the byte where it is") {
  const std::pair<const char*, std::size_t> kCases[] = {
      {R"({rank="2")", 9},
      {R"({rank=2})", 6},
      {R"({rank>"2"})", 5},
      {R"({="2"})", 1},
      {R"(|= loss)", 3},
      {R"(|= "open)", 3},
      {R"(|~ "(")", 3},
      {R"(| iteration)", 11},
      {R"(| iteration > "5")", 14},
      {R"(| iteration > 5s)", 14},
      {R"(| (rank == 1)", 12},
      {R"(| json)", 2},
      {R"({rank="2"} rank)", 11},
      {R"(|= "\q")", 4},
      {R"(| a == 1 $)", 9},
      {"rate({rank=\"2\"}[5m])", 15},  // the lexer meets [ first
      {"count_over_time(x)", 0},
      {R"(| a =~ 5)", 4},
  };
  for (const auto& [query, expected] : kCases) {
    CAPTURE(query);
    std::size_t position = 999;
    auto predicate = parse_logql(query, position);
    REQUIRE(!predicate.ok());
    CHECK(predicate.error().code() == ErrorCode::invalid);
    CHECK(position == expected);
  }
}

TEST_CASE("LogQL: nesting and length are capped") {
  std::size_t position = 0;
  CHECK(!parse_logql("| " + std::string(5000, '(') + "a == 1" + std::string(5000, ')'), position)
             .ok());
  CHECK(!parse_logql(std::string(70'000, ' '), position).ok());
  CHECK(parse_logql("| " + std::string(60, '(') + "a == 1" + std::string(60, ')'), position).ok());
}

TEST_CASE("LogQL: 10,000 mutations of valid queries parse or fail with a position inside") {
  const std::vector<std::string> kSeeds = {
      R"({rank="2", severity=~"error|fatal"} |= "grad" != "skip" |~ "nan|inf")",
      R"(| iteration >= 60 and (loss == NaN or host != "n1"), step < -1.5e3)",
      R"({a="b"} | (a == 1 or (b =~ "x.*" and c !~ `y+`)) |= "\u00e9\x41\n")",
      R"(|= "a" or "b" or `c` # comment)",
  };
  const unsigned seed = 20261130;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 10'000; ++i) {
    std::string query = kSeeds[random() % kSeeds.size()];
    for (auto n = 1 + random() % 4; n > 0; --n) {
      const std::size_t at = random() % (query.size() + 1);
      switch (random() % 4) {
        case 0: query.insert(at, 1, static_cast<char>(random() % 256)); break;
        case 1: query.erase(at, 1 + random() % 5); break;
        case 2: query.insert(at, query.substr(random() % query.size(), random() % 12)); break;
        default:
          if (at < query.size()) query[at] = static_cast<char>(random() % 256);
      }
      if (query.empty()) query = "{";
    }
    std::size_t position = 0;
    auto predicate = parse_logql(query, position);
    if (!predicate.ok()) {
      CHECK(predicate.error().code() == ErrorCode::invalid);
      CHECK(position <= query.size());
    }
  }
}

}  // namespace logarithm::aggregator
