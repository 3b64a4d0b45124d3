#include "common/block/bytes_column.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "common/block/clock_text.h"

namespace logarithm::block {
namespace {

constexpr std::size_t kMaxPadded = 18;  // digits that any int64 holds

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The int64 whose canonical decimal is exactly `text`.
bool parse_canonical(std::string_view text, std::uint64_t& out) {
  std::int64_t value = 0;
  const std::string_view digits = text.substr(!text.empty() && text.front() == '-' ? 1 : 0);
  if (digits.empty() || !is_digit(digits.front())) return false;
  if (digits.front() == '0' && text.size() > 1) return false;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  out = static_cast<std::uint64_t>(value);
  return problem == std::errc{} && stop == end;
}

bool parse_padded(std::string_view text, std::size_t width, std::uint64_t& out) {
  if (text.size() != width) return false;
  out = 0;
  for (const char c : text) {
    if (!is_digit(c)) return false;
    out = out * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return true;
}

template <typename Parse>
bool parse_all(const std::vector<std::string_view>& values, std::vector<std::uint64_t>& out,
               Parse&& parse) {
  out.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!parse(values[i], out[i])) return false;
  }
  return true;
}

bool encode_numbers(const std::vector<std::string_view>& values, std::string& out) {
  std::vector<std::uint64_t> numbers;
  ByteWriter writer(out);
  if (parse_all(values, numbers, parse_canonical)) {
    writer.u8(static_cast<std::uint8_t>(BytesEncoding::decimal));
    encode_ints(numbers, out);
    return true;
  }
  const std::size_t width = values.front().size();
  if (width == 0 || width > kMaxPadded) return false;
  const auto parse = [width](std::string_view text, std::uint64_t& number) {
    return parse_padded(text, width, number);
  };
  if (!parse_all(values, numbers, parse)) return false;
  writer.u8(static_cast<std::uint8_t>(BytesEncoding::padded));
  writer.u8(static_cast<std::uint8_t>(width));
  encode_ints(numbers, out);
  return true;
}

// Worth it where values repeat at least four times on average.
bool encode_dictionary(const std::vector<std::string_view>& values, Budget& dictionary,
                       std::string& out) {
  const std::size_t most = values.size() / 4;
  std::unordered_map<std::string_view, std::uint64_t> index;
  std::vector<std::string_view> entries;
  std::vector<std::uint64_t> refs;
  refs.reserve(values.size());
  for (const std::string_view value : values) {
    const auto [found, added] = index.try_emplace(value, entries.size());
    if (added) {
      if (entries.size() >= most) return false;
      entries.push_back(value);
    }
    refs.push_back(found->second);
  }
  if (!dictionary.take(entries.size())) return false;
  ByteWriter writer(out);
  writer.u8(static_cast<std::uint8_t>(BytesEncoding::dictionary));
  writer.varint(entries.size());
  for (const std::string_view entry : entries) writer.sized(entry);
  encode_ints(refs, out);
  return true;
}

void encode_plain(const std::vector<std::string_view>& values, std::string& out) {
  std::vector<std::uint64_t> lengths;
  lengths.reserve(values.size());
  for (const std::string_view value : values) lengths.push_back(value.size());
  std::string encoded;
  encode_ints(lengths, encoded);
  ByteWriter writer(out);
  writer.u8(static_cast<std::uint8_t>(BytesEncoding::plain));
  writer.sized(encoded);
  for (const std::string_view value : values) writer.bytes(value);
}

}  // namespace

void encode_bytes(const std::vector<std::string_view>& values,
                  const std::vector<std::int64_t>& times, Budget& dictionary, std::string& out) {
  if (values.empty()) return;
  ByteWriter writer(out);
  if (std::all_of(values.begin(), values.end(),
                  [&values](std::string_view value) { return value == values.front(); })) {
    writer.u8(static_cast<std::uint8_t>(BytesEncoding::constant));
    writer.sized(values.front());
    return;
  }
  if (const auto clock = find_clock(values, times)) {
    writer.u8(static_cast<std::uint8_t>(BytesEncoding::time));
    writer.u8(static_cast<std::uint8_t>(clock->format));
    writer.zigzag_varint(clock->utc_offset_minutes);
    return;
  }
  if (encode_numbers(values, out) || encode_dictionary(values, dictionary, out)) return;
  encode_plain(values, out);
}

namespace {

class ByteCollector {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) seen_[static_cast<unsigned char>(c)] = true;
  }
  void give(ByteSet& out) const {
    for (std::size_t byte = 0; byte < seen_.size(); ++byte) {
      if (seen_[byte]) out.set(byte);
    }
  }

 private:
  std::array<bool, 256> seen_{};
};

}  // namespace

void add_bytes_of_column(std::string_view column, ByteSet& out) {
  ByteReader in(column);
  ByteCollector bytes;
  const std::uint8_t encoding = in.u8();
  switch (static_cast<BytesEncoding>(encoding)) {
    case BytesEncoding::constant: bytes.add(in.sized()); break;
    case BytesEncoding::plain:
      in.sized();
      bytes.add(in.bytes(in.remaining()));
      break;
    case BytesEncoding::dictionary:
      for (std::size_t left = in.count(1); left > 0; --left) bytes.add(in.sized());
      break;
    case BytesEncoding::decimal: bytes.add("-0123456789"); break;
    case BytesEncoding::padded: bytes.add("0123456789"); break;
    case BytesEncoding::time: bytes.add("0123456789:-.,"); break;
    default: in.fail(); break;
  }
  if (!in.ok()) out.set();
  bytes.give(out);
}

BytesCursor::BytesCursor(std::string_view column, Budget& dictionary) : in_(column) {
  const std::uint8_t encoding = in_.u8();
  encoding_ = static_cast<BytesEncoding>(encoding);
  switch (encoding_) {
    case BytesEncoding::constant: constant_ = in_.sized(); return;
    case BytesEncoding::plain: ints_ = IntCursor(in_.sized()); return;
    case BytesEncoding::dictionary: open_dictionary(dictionary); return;
    case BytesEncoding::decimal: ints_ = IntCursor(in_.bytes(in_.remaining())); return;
    case BytesEncoding::padded:
      width_ = in_.u8();
      ok_ = width_ > 0 && width_ <= kMaxPadded;
      ints_ = IntCursor(in_.bytes(in_.remaining()));
      return;
    case BytesEncoding::time:
      width_ = in_.u8();
      utc_offset_minutes_ = in_.zigzag_varint();
      ok_ = is_clock(width_, utc_offset_minutes_);
      return;
  }
  ok_ = false;
  encoding_ = BytesEncoding::constant;
}

void BytesCursor::open_dictionary(Budget& dictionary) {
  const std::size_t count = in_.count(1);
  if (!dictionary.take(count)) {
    ok_ = false;
    return;
  }
  entries_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) entries_.push_back(in_.sized());
  ints_ = IntCursor(in_.bytes(in_.remaining()));
}

std::string_view BytesCursor::next(std::int64_t time) {
  if (!ok()) return {};
  switch (encoding_) {
    case BytesEncoding::constant: return constant_;
    case BytesEncoding::plain: return in_.bytes(ints_.next());
    case BytesEncoding::dictionary: {
      const std::uint64_t ref = ints_.next_below(entries_.size());
      return ints_.ok() ? entries_[ref] : std::string_view();
    }
    case BytesEncoding::decimal: return decimal(ints_.next());
    case BytesEncoding::padded: return padded(ints_.next());
    case BytesEncoding::time:
      scratch_.clear();
      append_clock(static_cast<ClockFormat>(width_), utc_offset_minutes_, time, scratch_);
      return scratch_;
  }
  return {};
}

void BytesCursor::skip(std::uint64_t count) {
  switch (encoding_) {
    case BytesEncoding::constant:
    case BytesEncoding::time: return;
    case BytesEncoding::plain: in_.bytes(ints_.sum(count)); return;
    case BytesEncoding::dictionary:
    case BytesEncoding::decimal:
    case BytesEncoding::padded: ints_.skip(count); return;
  }
}

std::string_view BytesCursor::decimal(std::uint64_t value) {
  scratch_.resize(20);
  const auto written = std::to_chars(scratch_.data(), scratch_.data() + scratch_.size(),
                                     static_cast<std::int64_t>(value));
  return std::string_view(scratch_.data(), static_cast<std::size_t>(written.ptr - scratch_.data()));
}

std::string_view BytesCursor::padded(std::uint64_t value) {
  scratch_.assign(width_, '0');
  for (std::size_t i = width_; i > 0 && value > 0; --i, value /= 10) {
    scratch_[i - 1] = static_cast<char>('0' + value % 10);
  }
  if (value > 0) ok_ = false;
  return scratch_;
}

}  // namespace logarithm::block
