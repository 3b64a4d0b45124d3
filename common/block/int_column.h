#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/io/byte_codec.h"

// Columns of 64-bit integers (signed ones as their two's complement). README, "Integer column".
namespace logarithm::block {

enum class IntEncoding : std::uint8_t {
  constant = 0,  // one unsigned varint
  varint = 1,    // unsigned varints
  zigzag = 2,    // zigzag varints
  delta = 3,     // zigzag varints of the differences (modulo 2^64); the first from 0
  sparse = 4,    // default, count, then (rows skipped, value) for the others
};

// Appends `values` in the smallest of the encodings. Nothing is appended for no values.
void encode_ints(const std::vector<std::uint64_t>& values, std::string& out);

// Gives the values of a column one after another, without ever holding them. The number of values
// is known to the caller; bytes that hold fewer make ok() false. Views the column's bytes.
class IntCursor {
 public:
  IntCursor() = default;  // of an absent column: endless zeros
  explicit IntCursor(std::string_view column);

  bool ok() const { return in_.ok() && ok_; }
  std::uint64_t next() {
    if (encoding_ == IntEncoding::constant) return value_;
    if (encoding_ == IntEncoding::varint) return in_.varint();
    return next_coded();
  }
  // The next value, which must be less than `limit`; 0 and not ok() otherwise.
  std::uint64_t next_below(std::uint64_t limit) {
    const std::uint64_t value = next();
    if (value < limit) return value;
    ok_ = false;
    return 0;
  }
  // Past so many values that nobody wants: much quicker than asking for them.
  void skip(std::uint64_t count);
  // How many of the next values are surely equal to the first of them; 0 where nobody knows.
  std::uint64_t same_ahead() const;
  // The sum of so many values, modulo 2^64.
  std::uint64_t sum(std::uint64_t count);

 private:
  std::uint64_t next_coded();
  void read_exception();
  void skip_varints(std::uint64_t count);
  void skip_delta(std::uint64_t count);
  void skip_sparse(std::uint64_t count);

  ByteReader in_;
  IntEncoding encoding_ = IntEncoding::constant;
  bool ok_ = true;
  std::uint64_t value_ = 0;       // constant, default of sparse, last of delta
  std::uint64_t exceptions_ = 0;  // sparse: how many follow
  std::uint64_t skip_ = 0;        // sparse: rows before the next exception
};

}  // namespace logarithm::block
