#include "common/block/bytes_column.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using namespace logarithm;
using namespace logarithm::block;

namespace {

BytesEncoding check_round_trip(const std::vector<std::string>& values,
                               const std::vector<std::int64_t>& times = {}) {
  const std::vector<std::string_view> views(values.begin(), values.end());
  std::string bytes;
  Budget dictionary(kMaxDictionary);
  encode_bytes(views, times, dictionary, bytes);
  BytesCursor cursor(bytes, dictionary);
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    REQUIRE(cursor.next(times.empty() ? 0 : times[i]) == values[i]);
  }
  REQUIRE(cursor.ok());
  return static_cast<BytesEncoding>(bytes[0]);
}

}  // namespace

TEST_CASE("BytesColumn: each shape of values takes its encoding and comes back exactly") {
  CHECK(check_round_trip({"x", "x", "x"}) == BytesEncoding::constant);
  CHECK(check_round_trip({"", ""}) == BytesEncoding::constant);
  CHECK(check_round_trip({"1", "-9223372036854775808", "9223372036854775807", "0"}) ==
        BytesEncoding::decimal);
  CHECK(check_round_trip({"007", "100", "000"}) == BytesEncoding::padded);
  CHECK(check_round_trip({"a", "b", "a", "b", "a", "b", "a", "b", "a"}) ==
        BytesEncoding::dictionary);
  CHECK(check_round_trip({"a", std::string("\0\xFF", 2), ""}) == BytesEncoding::plain);
}

TEST_CASE("BytesColumn: what only looks like a number is kept as bytes") {
  for (const char* odd : {"-0", "01", "+1", "", "-", "9223372036854775808", "1.0", " 1", "1e5"}) {
    CAPTURE(odd);
    check_round_trip({"12", odd});
    check_round_trip({odd, "12"});
    check_round_trip({odd, odd, odd, odd, "3"});
  }
}

TEST_CASE("BytesColumn: random values come back") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> values(1 + random() % 60);
    const auto kind = random() % 4;
    for (auto& value : values) {
      if (kind == 0) value = std::to_string(static_cast<std::int64_t>(random()));
      if (kind == 1) value = std::to_string(1000 + random() % 9000).substr(1);
      if (kind == 2) value = std::string(random() % 3, static_cast<char>(random() % 256));
      if (kind == 3) value = std::to_string(random() % 4) + "/x";
    }
    check_round_trip(values);
  }
}

TEST_CASE("BytesColumn: without room for a dictionary values are kept plain") {
  const std::vector<std::string_view> values(40, "a");
  std::vector<std::string_view> two = values;
  two[3] = "b";
  std::string bytes;
  Budget none(1);
  encode_bytes(two, {}, none, bytes);
  CHECK(static_cast<BytesEncoding>(bytes[0]) == BytesEncoding::plain);
}

TEST_CASE("BytesColumn: damaged columns are refused") {
  Budget room(kMaxDictionary);
  for (const std::string_view bad :
       {std::string_view(), std::string_view("\x09"), std::string_view("\x02\xFF\x01"),
        std::string_view("\x04\x00", 2), std::string_view("\x05\x63\x00", 3)}) {
    CHECK_FALSE(BytesCursor(bad, room).ok());
  }
  BytesCursor wide(std::string_view("\x04\x01\x00\x63"), room);  // 99 in one digit
  wide.next();
  CHECK_FALSE(wide.ok());
}
