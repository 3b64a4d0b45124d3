#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/io/byte_codec.h"
#include "common/io/crc32c.h"
#include "common/wire/frame.h"

// The eight bytes before every payload; for the .cpp files of this folder.
namespace logarithm::wire {

inline constexpr std::size_t kHeaderBytes = 8;
inline constexpr std::size_t kCrcAt = 4;

struct FrameHeader {
  std::uint8_t type = 0, flags = 0;
};

// The CRC covers type, flags and reserved bytes too, so that a damaged type is not another frame.
inline std::uint32_t frame_checksum(std::string_view frame) {
  return crc32c(frame.substr(kHeaderBytes), crc32c(frame.substr(0, kCrcAt)));
}

inline void begin_frame(std::string& out, std::uint8_t type) {
  ByteWriter writer(out);
  writer.u8(type);
  writer.u8(0);
  writer.u16(0);
  writer.u32(0);
}

inline void end_frame(std::string& out) { ByteWriter(out).patch_u32(kCrcAt, frame_checksum(out)); }

inline Result<FrameHeader> read_header(std::string_view bytes) {
  if (bytes.size() > kMaxFrame) return Error(ErrorCode::too_large, "frame");
  ByteReader reader(bytes);
  FrameHeader header;
  header.type = reader.u8();
  header.flags = reader.u8();
  reader.u16();
  const std::uint32_t crc = reader.u32();
  if (!reader.ok() || header.type == 0) return Error(ErrorCode::corrupt, "frame header");
  if (crc != frame_checksum(bytes)) return Error(ErrorCode::corrupt, "frame checksum");
  return header;
}

}  // namespace logarithm::wire
