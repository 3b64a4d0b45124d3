#include <doctest/doctest.h>

#include <cmath>

#include "common/line/stream_parser.h"
#include "common/rules/rule_set.h"

// What tests/jobs/train_ddp.py writes, as it was captured from a real run.
namespace logarithm {
namespace {

constexpr UnixNanos kObserved = 1'796'011'896'500'000'000;  // 2026-11-30T04:11:36.5Z

const char kStderr[] =
    "WARNING: Logging before InitGoogleLogging() is written to STDERR\n"
    "I20261130 04:11:32.336086  9693 debug.cpp:49] [c10d] The debug level is set to INFO.\n"
    "I20261130 04:11:35.100402  9693 logger.cpp:213] [Rank 2]: DDP Initialized with: \n"
    "broadcast_buffers: 1\n"
    "iteration: 0\n"
    "\n"
    "2026-11-30 04:11:35,987 INFO train_ddp.py:65] iteration 65 | batch ready in 0.2 ms\n"
    "2026-11-30 04:11:35,995 INFO train_ddp.py:73] iteration 65 | loss nan | grad_norm 2.2408 | lr "
    "1.0e-02 | 7.8 ms\n"
    "Traceback (most recent call last):\n"
    "  File \"/srv/train_ddp.py\", line 84, in <module>\n"
    "    main()\n"
    "    raise RuntimeError(f\"bad sample in shard {rank}: expected 64 features, found 63\")\n"
    "RuntimeError: bad sample in shard 2: expected 64 features, found 63\n"
    "after\n";

ParsedLines parse(std::string_view bytes, const char* stream, bool closed = true) {
  std::vector<RuleProblem> problems;
  const auto rules = RuleSet::build(RuleSet::shipped(), problems);
  for (const auto& problem : problems) MESSAGE(problem.to_string());
  LongLinePool pool;
  StreamContext context;
  context.process_rank = 2;
  context.rank_from_process = true;
  context.utc_offset_minutes = 0;
  context.stream_name = stream;
  auto parser = StreamParser::make(context, *rules, pool, 0, "");
  ParsedLines out;
  parser.value()->feed(bytes, kObserved, out);
  if (closed) parser.value()->flush(StreamParser::Flush::closed, kObserved, out);
  return out;
}

double number(const Line& line, const std::string& key) {
  for (const auto& pair : line.meta) {
    if (pair.key == key && std::holds_alternative<double>(pair.value)) {
      return std::get<double>(pair.value);
    }
  }
  FAIL("no such field: " << key);
  return 0;
}

}  // namespace

TEST_CASE("Training job: headers give time, severity and call site") {
  const auto lines = parse(kStderr, "stderr").lines;

  REQUIRE(lines.size() == 14);
  CHECK(lines[0].severity == Severity::warning);
  CHECK(lines[1].severity == Severity::info);
  CHECK(lines[1].callsite == "debug.cpp:49");
  CHECK(body_of(lines[1]) == "[c10d] The debug level is set to INFO.");
  CHECK(lines[1].time == 1'796'011'892'336'086'000);
  CHECK(lines[6].callsite == "train_ddp.py:65");
  CHECK(lines[6].time == 1'796'011'895'987'000'000);
  CHECK(body_of(lines[6]) == "iteration 65 | batch ready in 0.2 ms");
}

TEST_CASE("Training job: lines without header continue the record before them") {
  const auto lines = parse(kStderr, "stderr").lines;

  CHECK(lines[3].head == lines[2].offset);
  CHECK(lines[3].has(line_flag::continuation));
  CHECK(lines[3].has(line_flag::derived_fields));
  CHECK(lines[3].severity == Severity::info);
  CHECK(lines[3].time == lines[2].time);
  CHECK(lines[3].has(line_flag::derived_time));
  CHECK_FALSE(lines[4].iteration.has_value());
}

TEST_CASE("Training job: iteration lines carry the iteration and float metrics, nan included") {
  const auto lines = parse(kStderr, "stderr").lines;

  CHECK(lines[6].iteration == 65);
  CHECK_FALSE(lines[6].has(line_flag::derived_iteration));
  CHECK(lines[7].iteration == 65);
  CHECK(std::isnan(number(lines[7], "loss")));
  CHECK(number(lines[7], "grad_norm") == 2.2408);
  CHECK(number(lines[7], "lr") == 0.01);
}

TEST_CASE("Training job: a traceback is one record with severity error and the carried iteration") {
  const auto lines = parse(kStderr, "stderr").lines;

  for (std::size_t i = 8; i <= 12; ++i) {
    CAPTURE(i);
    CHECK(lines[i].head == lines[8].offset);
    CHECK(lines[i].severity == Severity::error);
    CHECK(lines[i].iteration == 65);
    CHECK(lines[i].has(line_flag::derived_iteration));
    CHECK(lines[i].has(line_flag::continuation) == (i > 8));
  }
  REQUIRE(lines[12].events.size() == 1);
  CHECK(lines[12].events[0] == EventMark{"python-exception", "exception", "root"});
  CHECK(lines[11].events.empty());
  CHECK(lines[13].head == lines[13].offset);
  CHECK(lines[13].severity == Severity::unset);
}

TEST_CASE("Training job: a peer that closed its connection is a cascade, not a cause") {
  const auto lines = parse(
      "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer "
      "[127.0.0.1]:65194\n",
      "stderr");

  REQUIRE_FALSE(lines.lines[0].events.empty());
  for (const auto& event : lines.lines[0].events) CHECK(event.klass == "cascade");
  CHECK(lines.lines[0].severity == Severity::error);
}

TEST_CASE("Training job: print lines carry the iteration and are heads of their own") {
  const auto lines = parse("step=60 loss=0.417919 grad_norm=nan\nplain\n", "stdout").lines;

  CHECK(lines[0].iteration == 60);
  CHECK(number(lines[0], "loss") == 0.417919);
  CHECK(std::isnan(number(lines[0], "grad_norm")));
  CHECK(lines[0].severity == Severity::unset);
  CHECK(lines[1].iteration == 60);
  CHECK(lines[1].has(line_flag::derived_iteration));
  CHECK(lines[1].head == lines[1].offset);
  CHECK(lines[0].time == kObserved);
}

TEST_CASE("Training job: loss nan and loss 2.3 share a template") {
  const auto lines =
      parse("step=60 loss=0.41 grad_norm=nan\nstep=65 loss=nan grad_norm=-1e-3\n", "stdout").lines;

  CHECK(lines[0].template_id == lines[1].template_id);
}

TEST_CASE("Training job: dmesg -x tells of an Xid, and 1e400 hides nothing of its line") {
  const ParsedLines kernel =
      parse("kern  :err   : [  123.456] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen\n",
            "kernel");
  REQUIRE(kernel.lines.size() == 1);
  CHECK(kernel.lines[0].severity >= Severity::error);
  REQUIRE(kernel.lines[0].events.size() == 1);
  CHECK(kernel.lines[0].events[0].kind == "xid");
  CHECK(number(kernel.lines[0], "uptime") == 123.456);
  const ParsedLines json =
      parse("{\"iteration\": 12, \"loss\": 2.5, \"grad_norm\": 1e400}\n", "stdout");
  REQUIRE(json.lines.size() == 1);
  CHECK(json.lines[0].iteration == 12);
  CHECK(number(json.lines[0], "loss") == 2.5);
  CHECK(number(json.lines[0], "grad_norm") == INFINITY);
}

}  // namespace logarithm
