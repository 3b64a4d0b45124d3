#include "aggregator/query/cursor.h"

#include <algorithm>
#include <cstring>

#include "aggregator/query/base64url.h"

namespace logarithm::aggregator {
namespace {

constexpr char kVersion = 1;
template <typename T>
void put(std::string& out, T value) {
  auto bits = static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i, bits >>= 8) {
    out.push_back(static_cast<char>(bits & 0xFF));
  }
}

template <typename T>
T take(std::string_view bytes, std::size_t& at) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bits |= std::uint64_t{static_cast<unsigned char>(bytes[at++])} << (8 * i);
  }
  return static_cast<T>(bits);
}

constexpr std::size_t kSize = 1 + 1 + 1 + 8 + 8 + 8 + 8 + 4 + 8 + 8 + 8 + 4;

}  // namespace

std::string to_text(const Cursor& cursor) {
  std::string bytes;
  bytes.push_back(kVersion);
  put(bytes, static_cast<std::uint8_t>(cursor.direction));
  put(bytes, static_cast<std::uint8_t>((cursor.start ? 1 : 0) | (cursor.end ? 2 : 0)));
  put(bytes, cursor.query_hash);
  put(bytes, cursor.after.time);
  put(bytes, cursor.after.stream.base.hi);
  put(bytes, cursor.after.stream.base.lo);
  put(bytes, cursor.after.stream.generation);
  put(bytes, cursor.after.offset);
  put(bytes, cursor.start.value_or(0));
  put(bytes, cursor.end.value_or(0));
  put(bytes, static_cast<std::uint32_t>(fnv1a(bytes)));
  return base64url(bytes);
}

Result<Cursor> parse_cursor(std::string_view text) {
  const Error bad(ErrorCode::invalid, "not a cursor of this query");
  if (text.size() > 2 * kSize) return bad;
  auto bytes = from_base64url(text);
  if (!bytes || bytes->size() != kSize || bytes->front() != kVersion) return bad;
  std::size_t at = kSize - 4;
  const auto sum = take<std::uint32_t>(*bytes, at);
  if (sum != static_cast<std::uint32_t>(fnv1a(std::string_view(*bytes).substr(0, kSize - 4)))) {
    return bad;
  }
  at = 1;
  Cursor out;
  const auto direction = take<std::uint8_t>(*bytes, at);
  const auto present = take<std::uint8_t>(*bytes, at);
  if (direction > 1 || present > 3) return bad;
  out.direction = static_cast<Direction>(direction);
  out.query_hash = take<std::uint64_t>(*bytes, at);
  out.after.time = take<std::int64_t>(*bytes, at);
  out.after.stream.base.hi = take<std::uint64_t>(*bytes, at);
  out.after.stream.base.lo = take<std::uint64_t>(*bytes, at);
  out.after.stream.generation = take<std::uint32_t>(*bytes, at);
  out.after.offset = take<std::uint64_t>(*bytes, at);
  const auto start = take<std::int64_t>(*bytes, at), end = take<std::int64_t>(*bytes, at);
  if ((present & 1) != 0) out.start = start;
  if ((present & 2) != 0) out.end = end;
  return out;
}

std::uint64_t hash_query(std::string_view job, const Params& params) {
  Params filters;
  for (const auto& param : params) {
    if (is_filter_parameter(param.first)) filters.push_back(param);
  }
  std::stable_sort(filters.begin(), filters.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::uint64_t hash = fnv1a(job);
  for (const auto& [name, value] : filters) {
    hash = fnv1a(std::string_view("\0", 1), hash);
    hash = fnv1a(name, hash);
    hash = fnv1a("=", hash);
    hash = fnv1a(value, hash);
  }
  return hash;
}

}  // namespace logarithm::aggregator
