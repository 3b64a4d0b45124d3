#include "common/line/stream_parser.h"

#include <doctest/doctest.h>

#include "common/rules/rule_set.h"

namespace logarithm {
namespace {

constexpr UnixNanos kSecond = 1'000'000'000;
constexpr UnixNanos kNoon = 1'796'040'000 * kSecond;  // 2026-11-30T12:00:00Z

struct Stream {
  explicit Stream(StreamContext context = {}, const char* yaml = "") {
    std::vector<RuleProblem> problems;
    rules = RuleSet::build({{"test.yaml", yaml}}, problems);
    for (const auto& problem : problems) FAIL(problem.to_string());
    auto made = StreamParser::make(std::move(context), *rules, pool, 0, "");
    REQUIRE(made.ok());
    parser = std::move(made).value();
  }
  std::vector<Line>& feed(std::string_view bytes, UnixNanos at = kNoon) {
    out = {};
    parser->feed(bytes, at, out);
    return out.lines;
  }
  std::shared_ptr<const RuleSet> rules;
  LongLinePool pool;
  std::unique_ptr<StreamParser> parser;
  ParsedLines out;
};

}  // namespace

TEST_CASE("Stream parser: case 36: a line keeps its bytes, terminator, place and body") {
  Stream s;
  const auto& lines = s.feed("I1130 12:00:00.500000 7 a.cc:3] x\r\ny\n");
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].raw == "I1130 12:00:00.500000 7 a.cc:3] x");
  CHECK(lines[0].terminator == Terminator::crlf);
  CHECK(lines[0].length == 35);
  CHECK(lines[0].time == kNoon + kSecond / 2);
  CHECK(lines[0].callsite == "a.cc:3");
  CHECK(body_of(lines[0]) == "x");
  CHECK(text_of(lines[0]) == lines[0].raw);
  REQUIRE(lines[0].meta.size() == 2);
  CHECK(lines[0].meta[1].key == "tid");
  CHECK(std::get<std::int64_t>(lines[0].meta[1].value) == 7);
  CHECK(lines[0].meta[0].key == "level");
  CHECK(std::get<std::string>(lines[0].meta[0].value) == "I");
}

TEST_CASE(
    "Stream parser: case 58: the zone is the process's, else estimated once from what is seen") {
  const std::string_view line = "2026-11-30 21:00:00,000 INFO a.py:1] x\n";
  StreamContext tokyo;
  tokyo.utc_offset_minutes = 540;
  Stream known(tokyo);
  CHECK(known.feed(line)[0].time == kNoon);
  Stream estimated;
  CHECK(estimated.feed(line, kNoon + 2 * kSecond)[0].time == kNoon);
  CHECK(estimated.feed("2026-11-30 21:07:00,000 INFO a.py:1] x\n", kNoon + 840 * kSecond)[0].time ==
        kNoon + 420 * kSecond);
}

TEST_CASE("Stream parser: case 58: a time outside the window is flagged and not used") {
  StreamContext utc;
  utc.utc_offset_minutes = 0;
  for (std::string_view line :
       {"2026-10-01 00:00:00 INFO a.py:1] x\n", "2026-11-30 13:30:00 INFO a.py:1] x\n",
        "1970-01-01 00:00:00 INFO a.py:1] x\n", "9999-01-01 00:00:00 INFO a.py:1] x\n"}) {
    CAPTURE(line);
    Stream s(utc);
    const auto& lines = s.feed(line);
    CHECK(lines[0].has(line_flag::time_suspect));
    CHECK(lines[0].has(line_flag::derived_time));
    CHECK(lines[0].time == kNoon);
    CHECK(lines[0].severity == Severity::info);
  }
}

TEST_CASE("Stream parser: order time is the line's, else that of the line before, else observed") {
  StreamContext utc;
  utc.utc_offset_minutes = 0;
  Stream s(utc);
  CHECK(s.feed("plain\n")[0].time == kNoon);
  s.feed("2026-11-30 11:59:00 INFO a.py:1] x\n");
  CHECK(s.feed("plain\n", kNoon + 5 * kSecond)[0].time == kNoon - 60 * kSecond);
  CHECK(s.feed("much later\n", kNoon + 600 * kSecond)[0].time == kNoon + 540 * kSecond);
}

TEST_CASE("Stream parser: a date that is none costs the time alone") {
  Stream s;
  const auto& lines = s.feed(
      "2026-03-04 05:06:01 - INFO - a\n2026-13-45 25:61:61,000 - ERROR - b\n"
      "E0230 05:06:02.5 12 a.cc:9] c\nmore of c\n");
  CHECK(lines[1].severity == Severity::error);
  CHECK(lines[1].time == lines[0].time);
  CHECK(lines[1].has(line_flag::derived_time));
  CHECK(lines[1].head == lines[1].offset);
  CHECK(lines[2].callsite == "a.cc:9");
  CHECK(lines[2].time == lines[0].time);
  CHECK(lines[3].severity == Severity::error);
  CHECK(lines[3].head == lines[2].offset);
}

TEST_CASE("Stream parser: lines of an import before its first time take that time") {
  StreamContext context;
  context.imported = true;
  Stream s(context);
  const auto& lines = s.feed("banner\n2020-01-01 00:00:00 INFO a.py:1] x\nmore\n");
  CHECK(lines[0].time == 1'577'836'800 * kSecond);
  CHECK(lines[0].has(line_flag::derived_time));
  CHECK_FALSE(lines[1].has(line_flag::time_suspect));
  CHECK(lines[2].time == lines[1].time);
}

TEST_CASE("Stream parser: a wrapper's rank counts where no process gives one") {
  Stream without;
  CHECK(without.feed("[rank3]: x\n")[0].wrapper_rank == 3);
  CHECK(body_of(without.out.lines[0]) == "x");
  CHECK(text_of(without.out.lines[0]) == "[rank3]: x");

  StreamContext process;
  process.process_rank = 5;
  process.rank_from_process = true;
  Stream with(process);
  const auto& lines = with.feed("[rank3]: x\n[rank5]: y\n");
  CHECK_FALSE(lines[0].wrapper_rank.has_value());
  CHECK(lines[0].has(line_flag::rank_mismatch));
  CHECK_FALSE(lines[1].has(line_flag::rank_mismatch));
}

TEST_CASE("Stream parser: a wrapped header is a header") {
  Stream s;
  const auto& lines =
      s.feed("[rank3]:[E1130 12:00:00.448120903 ProcessGroupNCCL.cpp:616] [Rank 3] x\n");
  CHECK(lines[0].severity == Severity::error);
  CHECK(lines[0].callsite == "ProcessGroupNCCL.cpp:616");
  CHECK(body_of(lines[0]) == "[Rank 3] x");
}

TEST_CASE("Stream parser: case 39: rules and headers see text without colours, raw keeps them") {
  Stream s({}, "rules: [{name: r, match: 'error', severity: error}]");
  const auto& lines = s.feed("\x1b[31merr\x1b[0mor\n");
  CHECK(lines[0].severity == Severity::error);
  CHECK(lines[0].has(line_flag::ansi));
  CHECK(lines[0].raw == "\x1b[31merr\x1b[0mor");
}

TEST_CASE(
    "Stream parser: case 35, 33: odd bytes are kept and flagged, the other lines are untouched") {
  Stream s;
  const auto& lines = s.feed(std::string_view("ok\nbad \xe0\xf0\x91 end\na\0b\nok2\n", 24));
  REQUIRE(lines.size() == 4);
  CHECK(lines[1].has(line_flag::invalid_utf8));
  CHECK(lines[1].raw == "bad \xe0\xf0\x91 end");
  CHECK_FALSE(lines[0].has(line_flag::invalid_utf8));
  CHECK(lines[2].raw == std::string_view("a\0b", 3));
}

TEST_CASE("Stream parser: case 37: redraws are lines flagged progress") {
  Stream s;
  const auto& lines = s.feed(" 1%|#\r 2%|##\rdone\n");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].has(line_flag::progress));
  CHECK(lines[1].has(line_flag::progress));
  CHECK_FALSE(lines[2].has(line_flag::progress));
}

TEST_CASE("Stream parser: case 24: late bytes are glued, inherit, and a new head follows") {
  Stream s;
  s.feed("I1130 12:00:00.5 7 a.cc:3] ha");
  ParsedLines first;
  s.parser->flush(StreamParser::Flush::idle, kNoon, first);
  REQUIRE(first.lines.size() == 1);
  CHECK(first.lines[0].has(line_flag::partial));
  const auto& lines = s.feed("lf\nI1130 12:00:01.5 7 a.cc:4] x\n");
  CHECK(lines[0].has(line_flag::glued));
  CHECK(lines[0].head == first.lines[0].offset);
  CHECK(lines[0].severity == Severity::info);
  CHECK(lines[0].callsite == "a.cc:3");
  CHECK_FALSE(lines[1].has(line_flag::glued));
  CHECK(lines[1].head == lines[1].offset);
}

TEST_CASE("Stream parser: ranks that share a stream inherit each its own iteration") {
  const char* yaml =
      "rules: [{name: i, match: '^it (?P<step>\\d+)', fields: {step: int}, carry: [step]}]";
  Stream s({}, yaml);
  const auto ask = [&](std::string_view text) {
    s.out.lines.clear();
    s.feed(text);
    REQUIRE(!s.out.lines.empty());
    return s.out.lines.back().iteration;
  };
  CHECK(ask("[rank0]: it 12\n[rank1]: it 10\n[rank1]: slow\n") == 10);
  CHECK(ask("[rank0]: fine\n") == 12);
  // Who never said one is as far as anybody, and so is a line that names nobody.
  CHECK(ask("[rank2]: quiet\n") == 10);
  CHECK(ask("nobody\n") == 10);
  // A successor knows it too.
  auto successor =
      StreamParser::make({}, *s.rules, s.pool, s.parser->position(), s.parser->state());
  REQUIRE(successor.ok());
  s.parser = std::move(successor).value();
  CHECK(ask("[rank0]: still\n") == 12);
  // Somebody who is not to be told from the others is further on: so they may be.
  CHECK(ask("it 13\n[rank0]: after\n") == 13);
  CHECK(ask("[rank1]: after\n") == 13);
}

TEST_CASE(
    "Stream parser: a carried iteration holds until the next one and survives a reload of rules") {
  const char* yaml =
      "rules: [{name: i, match: '^it (?P<step>\\d+)', fields: {step: int}, carry: [step]}]";
  Stream s({}, yaml);
  const auto& lines = s.feed("a\nit 7\nb\nit 8\nc\n");
  CHECK_FALSE(lines[0].iteration.has_value());
  CHECK(lines[1].iteration == 7);
  CHECK_FALSE(lines[1].has(line_flag::derived_iteration));
  CHECK(lines[2].iteration == 7);
  CHECK(lines[2].has(line_flag::derived_iteration));
  CHECK(lines[4].iteration == 8);
  Stream other;
  s.parser->set_rules(*other.rules);
  CHECK(s.feed("d\n")[0].iteration == 8);
}

TEST_CASE("Stream parser: damaged state is an error") {
  Stream s;
  const auto made = StreamParser::make({}, *s.rules, s.pool, 10, "nonsense");
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().code() == ErrorCode::corrupt);
}

}  // namespace logarithm
