#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/block/block_limits.h"
#include "common/block/int_column.h"

// Columns of byte strings: variables of templates and string metadata. README, "Bytes column".
namespace logarithm::block {

enum class BytesEncoding : std::uint8_t {
  constant = 0,    // one sized string
  plain = 1,       // sized integer column of the lengths, then the bytes
  dictionary = 2,  // count, sized strings, then an integer column of refs
  decimal = 3,     // integer column; canonical decimal of an int64
  padded = 4,      // width u8, integer column; decimal padded with zeros to the width
  time = 5,        // format u8, UTC offset in minutes as zigzag varint; from the time column
};

// Appends `values` in a good encoding. Nothing is appended for no values. `times` are the order
// times of the lines that the values come from: given (same size), a value that is a clock reading
// is taken from there; empty otherwise. `dictionary` is the block's room for dictionary entries.
void encode_bytes(const std::vector<std::string_view>& values,
                  const std::vector<std::int64_t>& times, Budget& dictionary, std::string& out);

// Adds every byte that a value of the column may hold (all, where that is not known).
using ByteSet = std::bitset<256>;
void add_bytes_of_column(std::string_view column, ByteSet& out);

// Gives the values one after another. Views the column's bytes.
class BytesCursor {
 public:
  BytesCursor() = default;  // of an absent column: endless empty strings
  BytesCursor(std::string_view column, Budget& dictionary);

  bool ok() const { return in_.ok() && ints_.ok() && ok_; }
  // Valid until the next call.
  std::string_view next(std::int64_t time = 0);
  // Past so many values that nobody wants.
  void skip(std::uint64_t count);

 private:
  void open_dictionary(Budget& dictionary);
  std::string_view decimal(std::uint64_t value);
  std::string_view padded(std::uint64_t value);

  ByteReader in_;
  BytesEncoding encoding_ = BytesEncoding::constant;
  bool ok_ = true;
  std::string_view constant_;
  IntCursor ints_;
  std::vector<std::string_view> entries_;
  std::uint8_t width_ = 0;
  std::int64_t utc_offset_minutes_ = 0;
  std::string scratch_;
};

}  // namespace logarithm::block
