#include "common/io/crc32c.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

using logarithm::crc32c;
using logarithm::crc32c_portable;

TEST_CASE("Crc32c: gives the published vectors (RFC 3720, B.4)") {
  CHECK(crc32c("") == 0u);
  CHECK(crc32c("123456789") == 0xE3069283u);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAu);
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43u);
  std::string ascending;
  for (int i = 0; i < 32; ++i) ascending.push_back(static_cast<char>(i));
  CHECK(crc32c(ascending) == 0x46DD794Eu);
  CHECK(crc32c_portable("123456789") == 0xE3069283u);
}

TEST_CASE("Crc32c: instruction and table agree, in one piece or in two, at any length") {
  std::mt19937 random(7);
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes.push_back(static_cast<char>(random() & 255));
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::string_view all = std::string_view(bytes).substr(0, size);
    CAPTURE(size);
    REQUIRE(crc32c(all) == crc32c_portable(all));
    REQUIRE(crc32c(all.substr(size / 3), crc32c(all.substr(0, size / 3))) == crc32c(all));
  }
}
