#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace logarithm {

// Zigzag keeps small negative numbers small as varints. Total over all int64.
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// Appends little-endian numbers, varints (LEB128, at most 10 bytes) and bytes to a string that the
// caller owns.
class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  std::size_t position() const { return out_.size(); }

  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u16(std::uint16_t value) { fixed(value); }
  void u32(std::uint32_t value) { fixed(value); }
  void u64(std::uint64_t value) { fixed(value); }

  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      out_.push_back(static_cast<char>(0x80 | (value & 0x7F)));
      value >>= 7;
    }
    out_.push_back(static_cast<char>(value));
  }
  void zigzag_varint(std::int64_t value) { varint(zigzag(value)); }

  void bytes(std::string_view value) { out_.append(value); }
  // Length as varint, then the bytes.
  void sized(std::string_view value) {
    varint(value.size());
    bytes(value);
  }

  // Overwrites a u32 written earlier (lengths and checksums known only at the end).
  void patch_u32(std::size_t position, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) out_[position + i] = static_cast<char>(value >> (8 * i));
  }

 private:
  template <std::unsigned_integral T>
  void fixed(T value) {
    char buffer[sizeof(T)];
    for (std::size_t i = 0; i < sizeof(T); ++i) buffer[i] = static_cast<char>(value >> (8 * i));
    out_.append(buffer, sizeof(T));
  }

  std::string& out_;
};

// Reads what ByteWriter wrote, from bytes that nobody vouches for. The first read past the end (or
// an overlong varint) makes ok() false for good; every read from then on gives zero or nothing, so
// callers may check once at the end of a run of reads, but before they allocate by a count.
class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  std::size_t remaining() const { return rest_.size(); }
  bool at_end() const { return rest_.empty(); }
  void fail() {
    ok_ = false;
    rest_ = {};
  }

  std::uint8_t u8() { return fixed<std::uint8_t>(); }
  std::uint16_t u16() { return fixed<std::uint16_t>(); }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  std::int64_t zigzag_varint() { return unzigzag(varint()); }

  // A varint that must fit T; anything larger is a failure.
  template <std::unsigned_integral T>
  T narrow_varint() {
    const std::uint64_t value = varint();
    if (value > std::numeric_limits<T>::max()) {
      fail();
      return 0;
    }
    return static_cast<T>(value);
  }

  std::string_view bytes(std::uint64_t count) {
    if (count > rest_.size()) {
      fail();
      return {};
    }
    const std::string_view out = rest_.substr(0, static_cast<std::size_t>(count));
    rest_.remove_prefix(static_cast<std::size_t>(count));
    return out;
  }
  std::string_view sized() { return bytes(varint()); }

  // A count of items that take at least `min_item` bytes each: more than the rest can hold fails.
  std::size_t count(std::size_t min_item) {
    const std::uint64_t value = varint();
    if (value > rest_.size() / min_item) {
      fail();
      return 0;
    }
    return static_cast<std::size_t>(value);
  }

 private:
  template <std::unsigned_integral T>
  T fixed() {
    if (rest_.size() < sizeof(T)) {
      fail();
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    }
    rest_.remove_prefix(sizeof(T));
    return static_cast<T>(value);
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace logarithm
