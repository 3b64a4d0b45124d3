#include "common/rules/field_value.h"

#include <doctest/doctest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

namespace logarithm {

TEST_CASE("Field value: doubles, with nan and inf in any case and sign") {
  CHECK(parse_double("1.0e-02") == 0.01);
  CHECK(parse_double("-5") == -5.0);
  CHECK(std::isnan(*parse_double("NaN")));
  CHECK(std::isnan(*parse_double("-nan")));
  CHECK(parse_double("-inf") == -INFINITY);
  CHECK(parse_double("+Infinity") == INFINITY);
  for (const char* text : {"", "-", "1.2.3", "nan(1)", "--1", "0x1p3", "1 ", "infx"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(parse_double(text).has_value());
  }
}

TEST_CASE("Field value: decimals are what from_chars makes of them, to the last bit") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100'000; ++round) {
    std::string text;
    for (auto i = 1 + random() % 17; i > 0; --i)
      text.push_back(static_cast<char>('0' + random() % 10));
    if (random() % 3 != 0) text.insert(random() % (text.size() + 1), 1, '.');
    if (random() % 3 == 0) {
      text += random() % 2 == 0 ? "e" : "E";
      if (random() % 2 == 0) text += random() % 2 == 0 ? "-" : "+";
      for (auto i = random() % 4; i > 0; --i)
        text.push_back(static_cast<char>('0' + random() % 10));
    }
    if (random() % 20 == 0) text.push_back(".eE- 1"[random() % 6]);
    CAPTURE(text);
    double expected = 0;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, expected);
    const auto value = parse_double(text);
    // strtod rounds what no double holds.
    if (problem == std::errc::result_out_of_range) expected = std::strtod(text.c_str(), nullptr);
    REQUIRE(value.has_value() == (problem != std::errc::invalid_argument && stop == end));
    if (value) {
      REQUIRE(std::bit_cast<std::uint64_t>(*value) == std::bit_cast<std::uint64_t>(expected));
    }
  }
}

TEST_CASE("Field value: a number that no double holds is infinity or nothing, as Python reads it") {
  const std::string zeros(400, '0');
  CHECK(parse_double("1e400") == INFINITY);
  CHECK(parse_double("-1.5E+400") == -INFINITY);
  CHECK(parse_double("1" + zeros) == INFINITY);
  CHECK(parse_double("0.001e+99999999999999999999") == INFINITY);
  CHECK(parse_double("." + zeros + "1e1000") == INFINITY);
  CHECK(parse_double("1e-400") == 0.0);
  CHECK(std::signbit(*parse_double("-1e-400")));
  CHECK(parse_double("0." + zeros + "1") == 0.0);
  CHECK(parse_double("1" + zeros + "e-1000") == 0.0);
  CHECK(parse_double("0e400") == 0.0);
  CHECK(parse_double("1e308") == 1e308);
  CHECK(parse_double("5e-324") == 5e-324);
  CHECK_FALSE(parse_double("1e400x").has_value());
  CHECK(std::get<double>(field_value(FieldType::floating, "1e400")) == INFINITY);
  CHECK(std::get<std::string>(field_value(FieldType::integer, "1e400")) == "1e400");
}

TEST_CASE("Field value: integers, with thousands where the rule says so") {
  CHECK(parse_int("5,856", true) == 5856);
  CHECK_FALSE(parse_int("5,856").has_value());
  CHECK(parse_int("+7") == 7);
  CHECK(parse_int("-9223372036854775808") == INT64_MIN);
  CHECK_FALSE(parse_int("9223372036854775808").has_value());
}

TEST_CASE("Field value: what is no number of its type stays as text") {
  CHECK(std::get<std::string>(field_value(FieldType::integer, "99999999999999999999")) ==
        "99999999999999999999");
  CHECK(std::get<std::int64_t>(field_value(FieldType::integer, "12")) == 12);
  CHECK(std::get<double>(field_value(FieldType::floating, "12")) == 12.0);
}

TEST_CASE("Field value: names of metrics are normalised") {
  CHECK(metric_name("lm loss") == "lm_loss");
  CHECK(metric_name("elapsed time per iteration (ms)") == "elapsed_time_per_iteration_ms");
  CHECK(metric_name("critic/rewards/mean") == "critic_rewards_mean");
  CHECK(metric_name("  --  ") == "");
  CHECK(metric_name("Acc@1") == "acc_1");
  CHECK(metric_name(std::string(200, 'a')).size() == 64);
}

}  // namespace logarithm
