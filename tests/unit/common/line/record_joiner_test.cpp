#include "common/line/record_joiner.h"

#include <doctest/doctest.h>

namespace logarithm {
namespace {

constexpr UnixNanos kSecond = 1'000'000'000;

// Feeds lines of 10 bytes into one record state.
struct Stream {
  Line add(std::string_view body, bool header = false, Severity severity = Severity::unset) {
    Line line;
    line.offset = next;
    line.length = 10;
    line.observed = now;
    line.severity = severity;
    if (header) line.callsite = "a.py:1";
    RecordFacts facts;
    facts.has_header = header;
    facts.body = body;
    facts.rank = rank;
    facts.has_iteration = body.starts_with("step=");
    join_record(line, facts, record);
    next += 10;
    return line;
  }
  std::uint64_t next = 0;
  UnixNanos now = 100 * kSecond;
  std::optional<std::int32_t> rank;
  OpenRecord record;
};

}  // namespace

TEST_CASE("Record: without headers every line is its own head") {
  Stream s;
  CHECK(s.add("a").head == 0);
  const Line b = s.add("  b");
  CHECK(b.head == 10);
  CHECK_FALSE(b.has(line_flag::continuation));
}

TEST_CASE("Record: continuations inherit severity and call site, until the next header") {
  Stream s;
  s.add("head", true, Severity::error);
  const Line more = s.add("more");
  CHECK(more.head == 0);
  CHECK(more.severity == Severity::error);
  CHECK(more.callsite == "a.py:1");
  CHECK(more.has(line_flag::derived_fields));
  CHECK(s.add("own", false, Severity::warning).severity == Severity::warning);
  CHECK(s.add("next", true, Severity::info).head == 30);
  CHECK(s.add("more").severity == Severity::info);
}

TEST_CASE("Record: one quiet second ends it, and a line with progress of its own does") {
  Stream s;
  s.add("head", true, Severity::error);
  s.now += kSecond;
  CHECK(s.add("in time").head == 0);
  s.now += kSecond + 1;
  CHECK(s.add("late").severity == Severity::unset);
  s.add("head", true, Severity::error);
  const Line step = s.add("step=5 loss=0.1");
  CHECK(step.head == step.offset);
  CHECK(step.severity == Severity::unset);
  CHECK(s.add("plain").severity == Severity::unset);
}

TEST_CASE("Record: case 61: a clock that was set back does not hold it open") {
  Stream s;
  s.add("head", true, Severity::error);
  s.now -= 50 * kSecond;
  CHECK(s.add("in time").head == 0);
  s.now += kSecond + 1;
  CHECK(s.add("late").severity == Severity::unset);
}

TEST_CASE("Record: another wrapper rank ends it") {
  Stream s;
  s.rank = 3;
  s.add("head", true, Severity::error);
  CHECK(s.add("more").has(line_flag::continuation));
  s.rank = 4;
  CHECK_FALSE(s.add("other").has(line_flag::continuation));
}

TEST_CASE("Record: case 40: it ends after 500 lines, what follows is flagged but not derived") {
  Stream s;
  s.add("head", true, Severity::error);
  for (int i = 1; i < 500; ++i) s.add("more");
  const Line over = s.add("more");
  CHECK(over.head == over.offset);
  CHECK(over.has(line_flag::continuation));
  CHECK(over.severity == Severity::unset);
  CHECK(s.add("more").head == over.offset);
}

TEST_CASE("Record: case 40: a pause inside a traceback does not cut it") {
  Stream s;
  CHECK(s.add("Traceback (most recent call last):").severity == Severity::error);
  s.add("  File \"x\", line 1");
  s.now += 3 * kSecond;
  CHECK(s.add("    main()").head == 0);
  const Line last = s.add("torch.cuda.OutOfMemoryError: x");
  CHECK(last.head == 0);
  CHECK(last.severity == Severity::error);
  CHECK(s.add("print").head == 40);
}

TEST_CASE("Record: a traceback is a record of its own after a header line") {
  Stream s;
  s.add("failed", true, Severity::warning);
  CHECK(s.add("Traceback (most recent call last):").head == 10);
  CHECK(s.add("not indented, and no exception either").head == 20);
}

TEST_CASE("Record: a redraw of a progress bar neither joins nor ends it") {
  Stream s;
  s.add("head", true, Severity::error);
  Line bar;
  bar.offset = s.next++;
  bar.observed = s.now;
  bar.flags = line_flag::progress;
  RecordFacts facts;
  facts.body = " 12%|#";
  join_record(bar, facts, s.record);
  CHECK(bar.head == bar.offset);
  CHECK(bar.severity == Severity::unset);
  CHECK(s.add("more").head == 0);
}

}  // namespace logarithm
