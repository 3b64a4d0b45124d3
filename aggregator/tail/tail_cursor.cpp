#include "aggregator/tail/tail_cursor.h"

#include "aggregator/query/base64url.h"

namespace logarithm::aggregator {
namespace {

// Version 1 are the cursors of pages.
constexpr char kVersion = 2;
constexpr std::size_t kMostText = 16u << 20;
constexpr int kKeyBits = 48;
constexpr std::size_t kSum = 4;

void put_fixed(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) out.push_back(static_cast<char>(value & 0xFF));
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7F) | 0x80));
  out.push_back(static_cast<char>(value));
}

// Reads what the above wrote; once something does not fit, everything reads as 0.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t fixed(int size) {
    std::uint64_t out = 0;
    for (int i = 0; i < size; ++i) out |= std::uint64_t{byte()} << (8 * i);
    return out;
  }
  std::uint64_t varint() {
    std::uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const unsigned char next = byte();
      out |= std::uint64_t{next & 0x7Fu} << shift;
      if ((next & 0x80) == 0) return out;
    }
    good_ = false;
    return 0;
  }
  bool good() const { return good_; }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  unsigned char byte() {
    if (at_ == bytes_.size()) good_ = false;
    return good_ ? static_cast<unsigned char>(bytes_[at_++]) : 0;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

void put_unsent(std::string& out, const Unsent& unsent) {
  put_varint(out, unsent.size());
  std::uint64_t before = 0;
  for (const Range& range : unsent) {
    put_varint(out, range.first - before);
    if (range.end != kNoEnd) put_varint(out, range.end - range.first);
    before = range.end;
  }
}

std::optional<Unsent> take_unsent(Reader& in) {
  Unsent out;
  std::uint64_t before = 0;
  for (std::uint64_t left = in.varint(); left > 0 && in.good(); --left) {
    const std::uint64_t skip = in.varint();
    Range range{before + skip, kNoEnd};
    if (range.first < before) return std::nullopt;
    if (left > 1) {
      const std::uint64_t size = in.varint();
      range.end = range.first + size;
      if (size == 0 || range.end < range.first) return std::nullopt;
    }
    before = range.end;
    out.push_back(range);
  }
  if (!in.good() || out.empty() || out.back().first == kNoEnd) return std::nullopt;
  return out;
}

}  // namespace

std::uint64_t stream_key(const StreamId& stream) {
  // The base is a hash already; the generation is stirred in.
  std::uint64_t x = stream.base.hi ^ (stream.base.lo * 0x9e3779b97f4a7c15ull) ^
                    (std::uint64_t{stream.generation} * 0xbf58476d1ce4e5b9ull);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return (x ^ (x >> 31)) >> (64 - kKeyBits);
}

std::string to_text(const TailCursor& cursor) {
  std::string bytes;
  bytes.push_back(kVersion);
  bytes.push_back(static_cast<char>((cursor.start ? 1 : 0) | (cursor.end ? 2 : 0)));
  put_fixed(bytes, cursor.query_hash, 8);
  if (cursor.start) put_fixed(bytes, static_cast<std::uint64_t>(*cursor.start), 8);
  if (cursor.end) put_fixed(bytes, static_cast<std::uint64_t>(*cursor.end), 8);
  put_varint(bytes, cursor.streams.size());
  std::uint64_t before = 0;
  for (const auto& [key, unsent] : cursor.streams) {
    put_varint(bytes, key - before);
    before = key;
    put_unsent(bytes, unsent);
  }
  put_fixed(bytes, fnv1a(bytes), kSum);
  return base64url(bytes);
}

Result<TailCursor> parse_tail_cursor(std::string_view text) {
  const Error bad(ErrorCode::invalid, "not a cursor of a tail");
  if (text.size() > kMostText) return bad;
  const auto bytes = from_base64url(text);
  if (!bytes || bytes->size() < 11 + kSum || bytes->front() != kVersion) return bad;
  const std::string_view body(bytes->data(), bytes->size() - kSum);
  Reader sum(std::string_view(*bytes).substr(body.size()));
  if (sum.fixed(kSum) != (fnv1a(body) & 0xFFFFFFFF)) return bad;
  Reader in(body.substr(1));
  TailCursor out;
  const std::uint64_t present = in.fixed(1);
  if (present > 3) return bad;
  out.query_hash = in.fixed(8);
  if ((present & 1) != 0) out.start = static_cast<UnixNanos>(in.fixed(8));
  if ((present & 2) != 0) out.end = static_cast<UnixNanos>(in.fixed(8));
  std::uint64_t key = 0;
  for (std::uint64_t left = in.varint(); left > 0 && in.good(); --left) {
    key += in.varint();
    auto unsent = take_unsent(in);
    if (!unsent || key >> kKeyBits != 0) return bad;
    out.streams[key] = std::move(*unsent);
  }
  if (!in.good() || !in.at_end()) return bad;
  return out;
}

}  // namespace logarithm::aggregator
