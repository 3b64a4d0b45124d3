#include "aggregator/http/json_text.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "aggregator/http/views.h"

namespace logarithm::aggregator {

TEST_CASE("JsonWriter: case 90, every byte value parses back, ill-formed UTF-8 as U+FFFD") {
  for (int byte = 0; byte < 256; ++byte) {
    CAPTURE(byte);
    const std::string text = std::string("a") + static_cast<char>(byte) + "b";
    JsonWriter out;
    out.string(text);
    const std::string back = nlohmann::json::parse(out.text());
    CHECK(back == (byte < 0x80 ? text
                               : std::string("a\xEF\xBF\xBD"
                                             "b")));
  }
}

TEST_CASE("JsonWriter: case 90, Unicode's edges survive, surrogates do not") {
  for (const char* text : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xEF\xBF\xBF", "\xE2\x80\xA8",
                           "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    JsonWriter out;
    out.string(text);
    CHECK(nlohmann::json::parse(out.text()) == text);
  }
  for (const char* bad : {"\xED\xA0\x80", "\xC0\xAF", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80"}) {
    JsonWriter out;
    out.string(bad);
    const std::string back = nlohmann::json::parse(out.text());
    CHECK(back.find("\xEF\xBF\xBD") == 0);
  }
}

TEST_CASE("JsonWriter: case 90, what some readers take for the end of a line is escaped") {
  const std::string text =
      "a\xE2\x80\xA8"
      "b\xE2\x80\xA9"
      "c\xC2\x85"
      "d\xC2\x84\xE2\x80\xA7\xE2\x82\xAC";
  JsonWriter out;
  out.string(text);
  CHECK(out.text() == "\"a\\u2028b\\u2029c\\u0085d\xC2\x84\xE2\x80\xA7\xE2\x82\xAC\"");
  CHECK(nlohmann::json::parse(out.text()) == text);
}

TEST_CASE("JsonWriter: numbers keep their value, past 2^53 as strings") {
  JsonWriter out;
  out.begin_array();
  out.integer(std::int64_t{1} << 53).integer((std::int64_t{1} << 53) + 1);
  out.integer(std::numeric_limits<std::int64_t>::min());
  out.real(0.1).real(5).real(1e300).real(5e-324).real(-0.0);
  out.real(std::nan("")).real(INFINITY).real(-INFINITY);
  out.end_array();
  const auto back = nlohmann::json::parse(out.text());
  CHECK(back[0] == 9007199254740992);
  CHECK(back[1] == "9007199254740993");
  CHECK(back[2] == "-9223372036854775808");
  CHECK(back[3].get<double>() == 0.1);
  CHECK(back[4].is_number_float());
  CHECK(back[5].get<double>() == 1e300);
  CHECK(back[6].get<double>() == 5e-324);
  CHECK(std::signbit(back[7].get<double>()));
  CHECK(back[8] == "NaN");
  CHECK(back[9] == "Infinity");
  CHECK(back[10] == "-Infinity");
}

TEST_CASE("Views: a process tells its exit as a shell would, or the signal that ended it") {
  const auto told = [](std::int32_t wait_status) {
    ProcessFacts process;
    process.info.exit_status = wait_status;
    JsonWriter out;
    write_process(out, process);
    return nlohmann::json::parse(out.take());
  };
  CHECK(told(0)["exit_status"] == 0);
  CHECK(told(7 << 8)["exit_status"] == 7);
  CHECK_FALSE(told(7 << 8).contains("exit_signal"));
  CHECK(told(9)["exit_signal"] == 9);
  CHECK_FALSE(told(9).contains("exit_status"));
}

}  // namespace logarithm::aggregator
