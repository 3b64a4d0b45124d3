#include "cli/filters.h"

#include <doctest/doctest.h>

#include <CLI/App.hpp>
#include <iterator>

namespace logarithm::cli {

TEST_CASE("Filters: every flag becomes its REST parameter, percent-encoded") {
  Filters filters;
  filters.logql = "{rank=\"2\"} |= \"a b\"";
  filters.attempt = "1";
  filters.rank = "0-7,16";
  filters.iteration = "1200..1300";
  filters.severity = "error";
  filters.grep = {"a+", "[b,c]"};
  filters.not_callsite = {"train.py:12"};
  filters.since = "15m";
  filters.end = "2026-11-30T00:00:00Z";

  auto params = filters.params();

  REQUIRE(params.ok());
  CHECK(query_text(*params) ==
        "?query=%7Brank%3D%222%22%7D%20%7C%3D%20%22a%20b%22&attempt=1&rank=0-7%2C16"
        "&iteration=1200..1300&severity=error&grep=a%2B&grep=%5Bb%2Cc%5D"
        "&not_callsite=train.py%3A12&start=-15m&end=2026-11-30T00%3A00%3A00Z");
  CHECK(query_text(Params()).empty());
}

TEST_CASE("Filters: numbers may be said at once or one after another, as in REST") {
  Filters filters;
  CLI::App app;
  filters.add_to(app);
  const char* words[] = {"q",         "--rank",      "0-7",       "--rank", "16,20",
                         "--attempt", "0",           "--attempt", "1-2",    "--iteration",
                         "1..5",      "--iteration", "9"};
  app.parse(static_cast<int>(std::size(words)), words);
  CHECK(filters.rank == "0-7,16,20");
  CHECK(filters.attempt == "0,1-2");
  CHECK(filters.iteration == "1..5,9");
}

TEST_CASE("Filters: --since is a duration and excludes --start") {
  Filters filters;
  filters.since = "15";
  CHECK_FALSE(filters.params().ok());
  filters.since = "15m";
  filters.start = "2026-11-30T00:00:00Z";
  CHECK_FALSE(filters.params().ok());
}

TEST_CASE("Filters: what picks lines is refused where whole streams are asked for") {
  Filters filters;
  filters.rank = "3";
  filters.stream = {"stdout"};
  CHECK(filters.stream_params().ok());
  filters.grep = {"x"};
  auto refused = filters.stream_params();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().starts_with("--grep picks lines"));
}

TEST_CASE("NumberSet: numbers and ranges, and nothing else") {
  auto set = NumberSet::parse("0-2,7,1200..1300").value();
  for (std::int64_t number : {0, 1, 2, 7, 1200, 1300}) CHECK(set.contains(number));
  for (std::int64_t number : {-1, 3, 8, 1199, 1301}) CHECK_FALSE(set.contains(number));
  CHECK(NumberSet::parse("").value().empty());
  for (const char* text : {"a", "1-", "-", "3-1", "1,,2", "1..", "1 2"}) {
    CAPTURE(text);
    CHECK_FALSE(NumberSet::parse(text).ok());
  }
}

}  // namespace logarithm::cli
