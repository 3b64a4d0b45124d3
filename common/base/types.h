#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace logarithm {

// Nanoseconds since 1970-01-01T00:00:00Z.
using UnixNanos = std::int64_t;

// 64-bit fingerprint of a template's text (xxh3-like quality is enough; see
// common/line/template.h).
using TemplateId = std::uint64_t;

// 128-bit hash that names a file: (tenant, host, file system, inode, birth time), or for imports
// (job, relative path, first line). See common/model/README.md.
struct StreamBase {
  std::uint64_t hi = 0;
  std::uint64_t lo = 0;
  auto operator<=>(const StreamBase&) const = default;
};

// One stream: a base and its generation (truncated or replaced content is the next generation).
struct StreamId {
  StreamBase base;
  std::uint32_t generation = 0;
  auto operator<=>(const StreamId&) const = default;
};

// "<32 hex digits>.<generation>" and back; `invalid` for anything else.
std::string to_text(const StreamId& id);
Result<StreamId> parse_stream_id(std::string_view text);
// "<32 hex digits>" and back.
std::string to_text(const StreamBase& base);
Result<StreamBase> parse_stream_base(std::string_view text);

// Offsets [first, end) of a stream.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  auto operator<=>(const Range&) const = default;
};

// SHA-256 (first 128 bits) of `bytes`.
StreamBase hash_base(std::string_view bytes);

}  // namespace logarithm

template <>
struct std::hash<logarithm::StreamBase> {
  std::size_t operator()(const logarithm::StreamBase& base) const noexcept { return base.lo; }
};
template <>
struct std::hash<logarithm::StreamId> {
  std::size_t operator()(const logarithm::StreamId& id) const noexcept {
    return id.base.lo ^ (std::uint64_t{id.generation} * 0x9E3779B97F4A7C15ull);
  }
};
