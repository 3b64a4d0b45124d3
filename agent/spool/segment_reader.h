#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/spool/segment_format.h"

namespace logarithm::agent {

// Puts a record's frame (magic, length, CRC32C, type) in front of its payload, at the end of `out`.
void append_record(std::string& out, segment_format::RecordType type, std::string_view payload);

struct SegmentRecord {
  segment_format::RecordType type{};
  std::string_view payload;
  std::uint64_t offset = 0;  // of the frame in the segment
  std::uint64_t length = 0;  // with the frame
};

// Records of a segment's bytes, one after another, skipping what is damaged: the next record is the
// next place where magic, length and CRC fit. Knows nothing of what records mean. `bytes` outlives
// the reader.
class SegmentReader {
 public:
  explicit SegmentReader(std::string_view bytes) : bytes_(bytes) {}

  // nullopt at the end.
  std::optional<SegmentRecord> next();

  std::uint64_t good_end() const { return good_end_; }  // end of the last whole record
  std::uint64_t skipped() const { return skipped_; }    // damaged bytes between whole records

 private:
  std::optional<SegmentRecord> at(std::uint64_t offset) const;

  std::string_view bytes_;
  std::uint64_t good_end_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace logarithm::agent
