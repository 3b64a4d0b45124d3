#include "common/base/types.h"

#include <openssl/sha.h>

#include <array>
#include <charconv>

namespace logarithm {
namespace {

void append_hex(std::string& out, std::uint64_t value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back(kDigits[(value >> shift) & 15]);
}

bool parse_hex(std::string_view text, std::uint64_t& value) {
  const char* end = text.data() + text.size();
  auto [stop, problem] = std::from_chars(text.data(), end, value, 16);
  return problem == std::errc{} && stop == end;
}

}  // namespace

std::string to_text(const StreamBase& base) {
  std::string out;
  out.reserve(32);
  append_hex(out, base.hi);
  append_hex(out, base.lo);
  return out;
}

std::string to_text(const StreamId& id) {
  return to_text(id.base) + "." + std::to_string(id.generation);
}

Result<StreamBase> parse_stream_base(std::string_view text) {
  StreamBase base;
  if (text.size() != 32 || !parse_hex(text.substr(0, 16), base.hi) ||
      !parse_hex(text.substr(16), base.lo)) {
    return Error(ErrorCode::invalid, "a stream is 32 hexadecimal digits");
  }
  return base;
}

Result<StreamId> parse_stream_id(std::string_view text) {
  if (text.size() < 34 || text[32] != '.') {
    return Error(ErrorCode::invalid, "a stream is 32 hexadecimal digits, a dot and a generation");
  }
  StreamId id;
  LGR_TRY(id.base, parse_stream_base(text.substr(0, 32)));
  std::string_view rest = text.substr(33);
  const char* end = rest.data() + rest.size();
  auto [stop, problem] = std::from_chars(rest.data(), end, id.generation);
  if (problem != std::errc{} || stop != end) {
    return Error(ErrorCode::invalid, "a stream's generation is a decimal number");
  }
  return id;
}

StreamBase hash_base(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  StreamBase base;
  for (std::size_t i = 0; i < 8; ++i) {
    base.hi = base.hi << 8 | digest[i];
    base.lo = base.lo << 8 | digest[8 + i];
  }
  return base;
}

}  // namespace logarithm
