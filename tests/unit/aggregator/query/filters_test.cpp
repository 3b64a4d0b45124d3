#include "aggregator/query/filters.h"

#include <doctest/doctest.h>

#include "aggregator/query/cursor.h"
#include "aggregator/query/time_text.h"

namespace logarithm::aggregator {

TEST_CASE("Intervals: lists and ranges of both spellings, anything else has a position") {
  std::size_t position = 0;
  auto some = parse_intervals("0-7,16", position);
  REQUIRE(some.ok());
  REQUIRE(some->size() == 2);
  CHECK((*some)[0].min == 0);
  CHECK((*some)[0].max == 7);
  CHECK((*some)[1].min == 16);
  auto open = parse_intervals("60..", position);
  REQUIRE(open.ok());
  CHECK(open->front().min == 60);
  CHECK(open->front().max == std::numeric_limits<std::int64_t>::max());
  auto negative = parse_intervals("-3..-1", position);
  REQUIRE(negative.ok());
  CHECK(negative->front().contains(-2));
  for (const char* bad : {"", "a", "1-", "7-0", "..", "1,,2", "1..2..3", "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(!parse_intervals(bad, position).ok());
  }
  CHECK(!parse_intervals("1,2,x", position).ok());
  CHECK(position == 4);
}

TEST_CASE("Filters: a regular expression that does not compile has a position") {
  ParamProblem trouble;
  CHECK(!parse_filters({{"grep", "loss \\q"}}, 0, trouble).ok());
  CHECK(trouble.parameter == "grep");
  CHECK(trouble.position == std::optional<std::size_t>(5));
}

TEST_CASE("Filters: a bad value names its parameter and position") {
  ParamProblem trouble;
  CHECK(!parse_filters({{"rank", "1"}, {"query", "{rank=2}"}}, 0, trouble).ok());
  CHECK(trouble.parameter == "query");
  CHECK(trouble.position == std::optional<std::size_t>(6));
  CHECK(!parse_filters({{"grep", "("}}, 0, trouble).ok());
  CHECK(trouble.parameter == "grep");
  CHECK(!parse_filters({{"severity", "loud"}}, 0, trouble).ok());
  CHECK(!parse_filters({{"start", "yesterday"}}, 0, trouble).ok());
}

TEST_CASE("Filters: start and end take RFC 3339, nanoseconds and times before now") {
  ParamProblem trouble;
  const UnixNanos now = 1'796'000'000'000'000'000;
  auto spec =
      parse_filters({{"start", "-15m"}, {"end", "2026-11-30T12:00:00.5+01:00"}}, now, trouble);
  REQUIRE(spec.ok());
  CHECK(spec->start == std::optional<UnixNanos>(now - 900'000'000'000));
  CHECK(to_rfc3339(*spec->end) == "2026-11-30T11:00:00.500000000Z");
  // The + of a zone, not encoded: a blank for whoever decodes the query.
  spec = parse_filters({{"end", "2026-11-30T12:00:00 01:00"}}, now, trouble);
  REQUIRE(spec.ok());
  CHECK(to_rfc3339(*spec->end) == "2026-11-30T11:00:00.000000000Z");
}

TEST_CASE("Times: what is printed reads back") {
  for (UnixNanos time : {UnixNanos{0}, UnixNanos{-1}, UnixNanos{1'796'000'000'123'456'789},
                         std::numeric_limits<UnixNanos>::max()}) {
    const std::string text = to_rfc3339(time);
    CAPTURE(text);
    auto back = parse_time(text, 0);
    REQUIRE(back.ok());
    CHECK(*back == time);
  }
  CHECK(to_rfc3339(0) == "1970-01-01T00:00:00.000000000Z");
  for (const char* bad : {"", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "-5", "-x", "-5y",
                          "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "9999-01-01T00:00:00Z"}) {
    CAPTURE(bad);
    if (std::string_view(bad) == "-5") continue;  // nanoseconds before 1970
    CHECK(!parse_time(bad, 0).ok());
  }
}

TEST_CASE("Cursor: reads back, and any change of a byte is refused") {
  Cursor cursor;
  cursor.direction = Direction::forward;
  cursor.query_hash = hash_query("job", {{"rank", "1"}, {"limit", "5"}});
  cursor.after = OrderKey{-5, StreamId{StreamBase{~0ull, 3}, 9}, 77};
  cursor.end = 12;
  const std::string text = to_text(cursor);

  auto back = parse_cursor(text);
  REQUIRE(back.ok());
  CHECK(back->after == cursor.after);
  CHECK(back->direction == cursor.direction);
  CHECK(back->query_hash == cursor.query_hash);
  CHECK(back->end == cursor.end);
  CHECK(!back->start);

  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = damaged[i] == 'A' ? 'B' : 'A';
    CHECK(!parse_cursor(damaged).ok());
  }
  CHECK(!parse_cursor("").ok());
  CHECK(!parse_cursor("nonsense!").ok());
}

TEST_CASE("Cursor: a query's hash does not know its page, its job and filters it does") {
  const Params one = {{"rank", "1"}, {"limit", "5"}, {"cursor", "x"}};
  CHECK(hash_query("j", one) == hash_query("j", {{"limit", "9"}, {"rank", "1"}}));
  CHECK(hash_query("j", one) != hash_query("k", one));
  CHECK(hash_query("j", one) != hash_query("j", {{"rank", "2"}}));
}

}  // namespace logarithm::aggregator
