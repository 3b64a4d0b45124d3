#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/block/block_header.h"

// The header part of a block. README, "Header part".
namespace logarithm::block {

enum class SectionId : std::uint16_t { facts = 1, fields = 2, text = 3 };
enum class Codec : std::uint8_t { stored = 0, zstd = 1 };

// Where a section lies: sections follow the header part in the directory's order.
struct SectionEntry {
  std::uint64_t id = 0;
  std::uint8_t codec = 0;
  std::uint64_t raw_length = 0, stored_length = 0;
};

struct ParsedHeader {
  BlockHeader header;
  std::vector<SectionEntry> sections;
  std::size_t header_length = 0;  // bytes of the header part
  std::size_t total_length = 0;   // bytes of the block
  std::uint32_t sections_crc = 0;
};

// The header part for `sections` (all sections' stored bytes, in the directory's order).
std::string encode_header(const BlockHeader& header, const std::vector<SectionEntry>& directory,
                          std::string_view sections);

// Checks magic, version, lengths and the header part's own CRC; not the sections.
Result<ParsedHeader> decode_header(std::string_view bytes);

// Length of the header part, from the first bytes.
Result<std::size_t> header_length(std::string_view bytes);

}  // namespace logarithm::block
