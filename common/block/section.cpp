#include "common/block/section.h"

#include <zstd.h>

#include <memory>

#include "common/block/block_limits.h"

namespace logarithm::block {
namespace {

constexpr int kLevel = 1;
// Below, a few hundred bytes are saved for 8 µs: of a block that is merged with others soon.
constexpr std::size_t kWorthTrying = 1024;

// Made once a thread: for a small section it costs more than the work. Null without memory.
ZSTD_CCtx* packer() {
  static thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(
      ZSTD_createCCtx(), &ZSTD_freeCCtx);
  return context.get();
}

ZSTD_DCtx* unpacker() {
  static thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(
      ZSTD_createDCtx(), &ZSTD_freeDCtx);
  return context.get();
}

}  // namespace

Result<SectionEntry> pack_section(SectionId id, std::string_view raw, std::string& sections) {
  if (raw.size() > kMaxSectionBytes) return Error(ErrorCode::too_large, "block section");
  SectionEntry entry{static_cast<std::uint64_t>(id), static_cast<std::uint8_t>(Codec::stored),
                     raw.size(), raw.size()};
  if (raw.size() >= kWorthTrying && packer() != nullptr) {
    const std::size_t begin = sections.size();
    sections.resize(begin + ZSTD_compressBound(raw.size()));
    const std::size_t size = ZSTD_compressCCtx(
        packer(), sections.data() + begin, sections.size() - begin, raw.data(), raw.size(), kLevel);
    if (ZSTD_isError(size) == 0 && size < raw.size() - raw.size() / 32) {
      sections.resize(begin + size);
      entry.codec = static_cast<std::uint8_t>(Codec::zstd);
      entry.stored_length = size;
      return entry;
    }
    sections.resize(begin);
  }
  sections.append(raw);
  return entry;
}

Result<std::string_view> unpack_section(const SectionEntry& entry, std::string_view stored,
                                        std::string& buffer) {
  if (entry.raw_length > kMaxSectionBytes) return Error(ErrorCode::too_large, "block section");
  if (entry.codec == static_cast<std::uint8_t>(Codec::stored)) {
    if (entry.raw_length != stored.size()) {
      return Error(ErrorCode::corrupt, "block section: stored length");
    }
    return stored;
  }
  if (entry.codec != static_cast<std::uint8_t>(Codec::zstd)) {
    return Error(ErrorCode::corrupt, "block section: unknown codec");
  }
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != entry.raw_length) {
    return Error(ErrorCode::corrupt, "block section: frame size");
  }
  if (unpacker() == nullptr) return Error(ErrorCode::unavailable, "no memory for zstd");
  buffer.resize(static_cast<std::size_t>(entry.raw_length));
  const std::size_t size =
      ZSTD_decompressDCtx(unpacker(), buffer.data(), buffer.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0 || size != buffer.size()) {
    return Error(ErrorCode::corrupt, "block section: damaged zstd frame");
  }
  return std::string_view(buffer);
}

}  // namespace logarithm::block
