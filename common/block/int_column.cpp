#include "common/block/int_column.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace logarithm::block {
namespace {

std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

std::uint64_t zigzag_bits(std::uint64_t value) { return zigzag(static_cast<std::int64_t>(value)); }

struct Sizes {
  std::size_t varint = 0, zigzag = 0, delta = 0;
  bool all_equal = true;
};

Sizes measure(const std::vector<std::uint64_t>& values) {
  Sizes sizes;
  std::uint64_t before = 0;
  for (const std::uint64_t value : values) {
    sizes.varint += varint_size(value);
    sizes.zigzag += varint_size(zigzag_bits(value));
    sizes.delta += varint_size(zigzag_bits(value - before));
    sizes.all_equal = sizes.all_equal && value == values.front();
    before = value;
  }
  return sizes;
}

// The value that more than half of the rows have, if there is one (Boyer and Moore).
std::uint64_t majority(const std::vector<std::uint64_t>& values) {
  std::uint64_t candidate = 0;
  std::size_t votes = 0;
  for (const std::uint64_t value : values) {
    if (votes == 0) candidate = value;
    votes = value == candidate ? votes + 1 : votes - 1;
  }
  return candidate;
}

std::string encode_sparse(const std::vector<std::uint64_t>& values) {
  const std::uint64_t usual = majority(values);
  const auto same = static_cast<std::size_t>(std::count(values.begin(), values.end(), usual));
  std::string out;
  if (same < values.size() / 8 * 7) return out;
  ByteWriter writer(out);
  writer.varint(usual);
  writer.varint(values.size() - same);
  std::uint64_t skipped = 0;
  for (const std::uint64_t value : values) {
    if (value == usual) {
      ++skipped;
      continue;
    }
    writer.varint(skipped);
    writer.varint(value);
    skipped = 0;
  }
  return out;
}

}  // namespace

void encode_ints(const std::vector<std::uint64_t>& values, std::string& out) {
  if (values.empty()) return;
  ByteWriter writer(out);
  const Sizes sizes = measure(values);
  if (sizes.all_equal) {
    writer.u8(static_cast<std::uint8_t>(IntEncoding::constant));
    writer.varint(values.front());
    return;
  }
  const std::size_t smallest = std::min({sizes.varint, sizes.zigzag, sizes.delta});
  const std::string sparse = encode_sparse(values);
  if (!sparse.empty() && sparse.size() < smallest) {
    writer.u8(static_cast<std::uint8_t>(IntEncoding::sparse));
    writer.bytes(sparse);
  } else if (sizes.varint == smallest) {
    writer.u8(static_cast<std::uint8_t>(IntEncoding::varint));
    for (const std::uint64_t value : values) writer.varint(value);
  } else if (sizes.zigzag == smallest) {
    writer.u8(static_cast<std::uint8_t>(IntEncoding::zigzag));
    for (const std::uint64_t value : values) writer.varint(zigzag_bits(value));
  } else {
    writer.u8(static_cast<std::uint8_t>(IntEncoding::delta));
    std::uint64_t before = 0;
    for (const std::uint64_t value : values) {
      writer.varint(zigzag_bits(value - before));
      before = value;
    }
  }
}

IntCursor::IntCursor(std::string_view column) : in_(column) {
  const std::uint8_t encoding = in_.u8();
  encoding_ = static_cast<IntEncoding>(encoding);
  switch (encoding_) {
    case IntEncoding::constant: value_ = in_.varint(); return;
    case IntEncoding::varint:
    case IntEncoding::zigzag:
    case IntEncoding::delta: return;
    case IntEncoding::sparse:
      value_ = in_.varint();
      exceptions_ = in_.varint();
      read_exception();
      return;
  }
  ok_ = false;
  encoding_ = IntEncoding::constant;
}

void IntCursor::read_exception() { skip_ = exceptions_ > 0 ? in_.varint() : 0; }

std::uint64_t IntCursor::next_coded() {
  switch (encoding_) {
    case IntEncoding::constant: return value_;
    case IntEncoding::varint: return in_.varint();
    case IntEncoding::zigzag: return static_cast<std::uint64_t>(in_.zigzag_varint());
    case IntEncoding::delta: return value_ += static_cast<std::uint64_t>(in_.zigzag_varint());
    case IntEncoding::sparse: break;
  }
  if (exceptions_ == 0) return value_;
  if (skip_ > 0) {
    --skip_;
    return value_;
  }
  const std::uint64_t value = in_.varint();
  --exceptions_;
  read_exception();
  return value;
}

// Eight bytes at a time: a varint ends where the highest bit is 0.
void IntCursor::skip_varints(std::uint64_t count) {
  ByteReader ahead = in_;
  const std::string_view rest = ahead.bytes(ahead.remaining());
  std::size_t at = 0;
  while (count > 8 && rest.size() - at >= 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, rest.data() + at, sizeof eight);
    count -= static_cast<std::uint64_t>(std::popcount(~eight & 0x8080808080808080u));
    at += 8;
  }
  for (; count > 0 && at < rest.size(); ++at) {
    if (static_cast<unsigned char>(rest[at]) < 0x80) --count;
  }
  if (count > 0) {
    in_.fail();
  } else {
    in_.bytes(at);
  }
}

// Most differences are one byte: those are added up without a call for each.
void IntCursor::skip_delta(std::uint64_t count) {
  while (count > 0 && in_.ok()) {
    ByteReader ahead = in_;
    const std::string_view rest = ahead.bytes(ahead.remaining());
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(count, rest.size()));
    std::size_t at = 0;
    for (; at < most && static_cast<unsigned char>(rest[at]) < 0x80; ++at) {
      value_ += static_cast<std::uint64_t>(unzigzag(static_cast<unsigned char>(rest[at])));
    }
    in_.bytes(at);
    count -= at;
    if (count == 0) return;
    next();
    --count;
  }
}

void IntCursor::skip_sparse(std::uint64_t count) {
  while (count > 0 && exceptions_ > 0 && in_.ok()) {
    if (skip_ >= count) {
      skip_ -= count;
      return;
    }
    count -= skip_ + 1;
    skip_ = 0;
    next();
  }
}

void IntCursor::skip(std::uint64_t count) {
  switch (encoding_) {
    case IntEncoding::constant: return;
    case IntEncoding::varint:
    case IntEncoding::zigzag: skip_varints(count); return;
    case IntEncoding::delta: skip_delta(count); return;
    case IntEncoding::sparse: skip_sparse(count); return;
  }
}

std::uint64_t IntCursor::same_ahead() const {
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  if (encoding_ == IntEncoding::constant) return kAll;
  if (encoding_ != IntEncoding::sparse) return 0;
  return exceptions_ == 0 ? kAll : skip_;
}

std::uint64_t IntCursor::sum(std::uint64_t count) {
  if (encoding_ == IntEncoding::constant) return count * value_;
  std::uint64_t out = 0;
  while (count > 0 && in_.ok()) {
    if (encoding_ == IntEncoding::varint) {
      ByteReader ahead = in_;
      const std::string_view rest = ahead.bytes(ahead.remaining());
      const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(count, rest.size()));
      std::size_t at = 0;
      for (; at < most && static_cast<unsigned char>(rest[at]) < 0x80; ++at) {
        out += static_cast<unsigned char>(rest[at]);
      }
      in_.bytes(at);
      count -= at;
      if (count == 0) break;
    }
    // What takes no bytes must take no time.
    if (encoding_ == IntEncoding::sparse) {
      const std::uint64_t usual = exceptions_ == 0 ? count : std::min(skip_, count);
      out += usual * value_;
      count -= usual;
      if (exceptions_ > 0) skip_ -= usual;
      if (count == 0) break;
    }
    out += next();
    --count;
  }
  return out;
}

}  // namespace logarithm::block
