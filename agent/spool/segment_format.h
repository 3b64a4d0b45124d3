#pragma once

#include <cstddef>
#include <cstdint>

// Constants of the spool's segment files only; the byte tables are in agent/spool/README.md.
namespace logarithm::agent::segment_format {

inline constexpr char kMagic[4] = {'L', 'G', 'S', 'R'};
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::size_t kRecordHeader = 13;            // magic, length, CRC32C, type
inline constexpr std::uint32_t kMaxPayload = 24u << 20;     // readers treat more as damage
inline constexpr std::uint64_t kMaxSegment = 512ull << 20;  // readers quarantine more

enum class RecordType : std::uint8_t {
  header = 1,      // first of a segment; the records of the snapshot follow it
  stream = 2,      // what changes rarely about a stream
  checkpoint = 3,  // snapshot only: where a stream stands
  append = 4,      // where a stream stands now, with the block that led to it
  fact = 5,        // something that the aggregator must be told beside blocks
  fact_done = 6,   // …and has stored
  ack = 7,         // blocks that the aggregator has stored
  forget = 8,      // a stream is gone
};

}  // namespace logarithm::agent::segment_format
