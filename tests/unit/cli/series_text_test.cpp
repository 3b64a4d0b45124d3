#include "cli/series_text.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/answer.h"

namespace logarithm::cli {
namespace {

using nlohmann::json;

const json kAnswer = json::parse(R"({"step":10,"points":5,"series":[
  {"metric":"loss","attempt":0,"rank":0,"count":2,"nan":0,"buckets":[
    {"iteration":0,"count":1,"nan":0,"min":2.5,"max":2.5,"mean":2.5,"last":2.5},
    {"iteration":10,"count":1,"nan":0,"min":1.0,"max":1.0,"mean":1.0,"last":1.0}]},
  {"metric":"loss","attempt":0,"rank":2,"count":3,"nan":1,"first_nan":14,"buckets":[
    {"iteration":10,"count":2,"nan":1,"min":3.0,"max":3.0,"mean":"NaN","last":"NaN"}],
    "without_iteration":{"count":1,"nan":0,"min":7.0,"max":7.0,"mean":7.0,"last":7.0}}],
  "completeness":{"complete":true,"reasons":[]}})");

}  // namespace

TEST_CASE("series: a table of buckets, NaN as such, points without an iteration last") {
  CHECK(series_table(kAnswer) ==
        "ATTEMPT  RANK  ITERATION  POINTS  NAN  MIN  MEAN  MAX  LAST\n"
        "      0     0        0-9       1    0  2.5   2.5  2.5   2.5\n"
        "      0     0      10-19       1    0    1     1    1     1\n"
        "      0     2      10-19       2    1    3   NaN    3   NaN\n"
        "      0     2          -       1    0    7     7    7     7\n");
}

TEST_CASE("series --plot: marks NaN and says which rank has it from which iteration on") {
  const std::string text = series_plot(kAnswer, 60);
  CHECK(text.starts_with("loss: mean of every 10 iterations, 2 series\n"));
  CHECK(text.find("NaN │") != std::string::npos);
  CHECK(text.find("NaN: attempt 0 rank 2 from iteration 14 on, 1 of 3 points\n") !=
        std::string::npos);
  CHECK(text.find("1 points without an iteration are not shown\n") != std::string::npos);
}

TEST_CASE("series --plot: each attempt is drawn on its own, since iterations begin anew") {
  json answer = kAnswer;
  for (const char* attempt : {"10", "2"}) {
    json more = kAnswer["series"][0];
    more["attempt"] = std::atoi(attempt);
    answer["series"].push_back(more);
  }
  const std::string text = series_plot(answer, 60);
  const auto first = text.find("\nattempt 0, 2 series:\n");
  const auto second = text.find("\nattempt 2, 1 series:\n");
  const auto third = text.find("\nattempt 10, 1 series:\n");
  CHECK(first < second);
  CHECK(second < third);
  CHECK(third != std::string::npos);
  CHECK(series_plot(kAnswer, 60).find(" series:") == std::string::npos);
}

TEST_CASE("series: records and tab-separated rows carry rank and attempt") {
  const std::string records = series_ndjson(kAnswer);
  CHECK(std::count(records.begin(), records.end(), '\n') == 4);
  const json third = json::parse(records.substr(0, records.find('\n')));
  CHECK(third["rank"] == 0);
  CHECK(third["mean"] == 2.5);
  CHECK(series_raw(kAnswer).find("0\t2\t10\t2\t3.0\tNaN\t3.0\tNaN\n") != std::string::npos);
}

TEST_CASE("series: odd answers are shown as far as they go") {
  const json odd = json::parse(R"({"series":[1,{"buckets":[2,{}]},{"without_iteration":{}}]})");
  CHECK_FALSE(series_table(odd).empty());
  CHECK_FALSE(series_plot(odd, 40).empty());
  CHECK_FALSE(series_raw(odd).empty());
}

TEST_CASE("answer: numbers may be words, a missing member is '-' or NaN") {
  const json object = json::parse(R"({"a":"Infinity","b":"12345678901234567890","c":null,"d":2})");
  CHECK(number_member(object, "a") == HUGE_VAL);
  CHECK(number_member(object, "b") == 12345678901234567890.0);
  CHECK(std::isnan(number_member(object, "c")));
  CHECK(std::isnan(number_member(object, "x")));
  CHECK(member(object, "c") == "-");
  CHECK(member(object, "d") == "2");
  CHECK(parse_answer(R"({"series":[]})", "series").ok());
  CHECK_FALSE(parse_answer(R"({"series":1})", "series").ok());
  CHECK_FALSE(parse_answer("nothing", "series").ok());
}

}  // namespace logarithm::cli
