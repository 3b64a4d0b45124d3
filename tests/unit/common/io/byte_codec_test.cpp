#include "common/io/byte_codec.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using logarithm::ByteReader;
using logarithm::ByteWriter;

TEST_CASE("ByteCodec: every kind of value is read back as written") {
  const std::vector<std::int64_t> values = {0,
                                            1,
                                            -1,
                                            63,
                                            -64,
                                            127,
                                            128,
                                            1'796'000'000'000'000'000,
                                            std::numeric_limits<std::int64_t>::min(),
                                            std::numeric_limits<std::int64_t>::max()};
  std::string bytes;
  ByteWriter out(bytes);
  for (std::int64_t value : values) {
    out.zigzag_varint(value);
    out.varint(static_cast<std::uint64_t>(value));
    out.u64(static_cast<std::uint64_t>(value));
    out.u32(static_cast<std::uint32_t>(value));
    out.u16(static_cast<std::uint16_t>(value));
    out.u8(static_cast<std::uint8_t>(value));
    out.sized(std::string_view("a\0b", 3));
  }
  ByteReader in(bytes);
  for (std::int64_t value : values) {
    CHECK(in.zigzag_varint() == value);
    CHECK(in.varint() == static_cast<std::uint64_t>(value));
    CHECK(in.u64() == static_cast<std::uint64_t>(value));
    CHECK(in.u32() == static_cast<std::uint32_t>(value));
    CHECK(in.u16() == static_cast<std::uint16_t>(value));
    CHECK(in.u8() == static_cast<std::uint8_t>(value));
    CHECK(in.sized() == std::string_view("a\0b", 3));
  }
  CHECK(in.ok());
  CHECK(in.at_end());
}

TEST_CASE("ByteCodec: little-endian is the byte order of fixed numbers") {
  std::string bytes;
  ByteWriter out(bytes);
  out.u32(0x04030201);
  CHECK(bytes == "\x01\x02\x03\x04");
  out.patch_u32(0, 0x08070605);
  CHECK(bytes == "\x05\x06\x07\x08");
}

TEST_CASE("ByteCodec: a read past the end fails for good and gives nothing") {
  ByteReader in("\x05");
  CHECK(in.u16() == 0);
  CHECK_FALSE(in.ok());
  CHECK(in.u8() == 0);
  CHECK(in.sized().empty());
}

TEST_CASE("ByteCodec: overlong varints, lengths and counts past the end are refused") {
  ByteReader eleven(std::string_view("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"));
  CHECK(eleven.varint() == 0);
  CHECK_FALSE(eleven.ok());
  ByteReader overflow(std::string_view("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"));
  CHECK(overflow.varint() == 0);
  CHECK_FALSE(overflow.ok());
  ByteReader unfinished("\x80");
  CHECK(unfinished.varint() == 0);
  CHECK_FALSE(unfinished.ok());
  ByteReader longer("\x05xyz");
  CHECK(longer.sized().empty());
  CHECK_FALSE(longer.ok());
  ByteReader many("\x05wxyz");
  CHECK(many.count(1) == 0);
  CHECK_FALSE(many.ok());
  std::string wide;
  ByteWriter(wide).varint(70000);
  ByteReader narrow(wide);
  CHECK(narrow.narrow_varint<std::uint16_t>() == 0);
  CHECK_FALSE(narrow.ok());
}
