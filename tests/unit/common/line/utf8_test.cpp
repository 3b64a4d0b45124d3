#include "common/base/utf8.h"

#include <doctest/doctest.h>

#include <random>

namespace logarithm {

TEST_CASE("UTF-8: case 35: invalid bytes become U+FFFD and the rest stays") {
  CHECK(sanitize_utf8("bad \xe0\xf0\x91 end") == "bad \xEF\xBF\xBD\xEF\xBF\xBD end");
  CHECK_FALSE(valid_utf8("bad \xe0\xf0\x91 end"));
}

TEST_CASE("UTF-8: overlong forms, surrogates and too high values are invalid") {
  for (const char* text : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80",
                           "\xF8\x88\x80\x80\x80", "\xC3"}) {
    CHECK_FALSE(valid_utf8(text));
    CHECK(valid_utf8(sanitize_utf8(text)));
  }
  for (const char* text : {"", "abc", "caf\xC3\xA9", "\xE2\x96\x88", "\xF0\x9F\x94\xA5"}) {
    CHECK(valid_utf8(text));
    CHECK(sanitize_utf8(text) == text);
  }
}

TEST_CASE("UTF-8: any bytes are made valid, and what is valid is not touched") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    const auto size = random() % 40;
    for (unsigned i = 0; i < size; ++i) {
      bytes.push_back(static_cast<char>(random() % 3 == 0 ? random() : 0x80 | (random() & 0x7F)));
    }
    const std::string clean = sanitize_utf8(bytes);
    CHECK(valid_utf8(clean));
    CHECK((clean == bytes) == valid_utf8(bytes));
  }
}

}  // namespace logarithm
