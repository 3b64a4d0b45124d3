#pragma once

#include <string>
#include <string_view>

#include "common/io/byte_codec.h"
#include "common/io/crc32c.h"

namespace logarithm::test {

// Makes lengths and both checksums of a changed block right again, so that the change reaches the
// decoder. The format's table: common/block/README.md.
inline void reseal_crc(std::string& block) {
  if (block.size() < 24) return;
  ByteWriter writer(block);
  writer.patch_u32(12, static_cast<std::uint32_t>(block.size()));
  const std::string_view bytes = block;
  const std::size_t header = ByteReader(bytes.substr(8)).u32();
  if (header < 24 || header > block.size()) return;
  writer.patch_u32(20, crc32c(bytes.substr(header)));
  writer.patch_u32(16, crc32c(bytes.substr(20, header - 20), crc32c(bytes.substr(0, 16))));
}

// The same for a frame of the wire (common/wire/README.md).
inline void reseal_frame(std::string& frame) {
  if (frame.size() < 8) return;
  const std::string_view bytes = frame;
  const std::uint32_t crc = crc32c(bytes.substr(8), crc32c(bytes.substr(0, 4)));
  ByteWriter(frame).patch_u32(4, crc);
}

}  // namespace logarithm::test
