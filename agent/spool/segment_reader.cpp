#include "agent/spool/segment_reader.h"

#include "common/io/byte_codec.h"
#include "common/io/crc32c.h"

namespace logarithm::agent {

using namespace segment_format;

void append_record(std::string& out, RecordType type, std::string_view payload) {
  const char type_byte = static_cast<char>(type);
  ByteWriter writer(out);
  writer.bytes(std::string_view(kMagic, sizeof kMagic));
  writer.u32(static_cast<std::uint32_t>(payload.size()));
  writer.u32(crc32c(payload, crc32c(std::string_view(&type_byte, 1))));
  writer.u8(static_cast<std::uint8_t>(type));
  writer.bytes(payload);
}

std::optional<SegmentRecord> SegmentReader::at(std::uint64_t offset) const {
  const std::string_view rest = bytes_.substr(static_cast<std::size_t>(offset));
  if (rest.size() < kRecordHeader) return std::nullopt;
  if (rest.substr(0, sizeof kMagic) != std::string_view(kMagic, sizeof kMagic)) return std::nullopt;
  ByteReader in(rest.substr(sizeof kMagic));
  const std::uint32_t length = in.u32();
  const std::uint32_t crc = in.u32();
  if (length > kMaxPayload || length > rest.size() - kRecordHeader) return std::nullopt;
  // The type byte is the last of the frame, so type and payload are one run of bytes.
  if (crc32c(rest.substr(kRecordHeader - 1, 1 + length)) != crc) return std::nullopt;
  SegmentRecord record;
  record.type = static_cast<RecordType>(rest[kRecordHeader - 1]);
  record.payload = rest.substr(kRecordHeader, length);
  record.offset = offset;
  record.length = kRecordHeader + length;
  return record;
}

std::optional<SegmentRecord> SegmentReader::next() {
  const std::string_view magic(kMagic, sizeof kMagic);
  std::size_t from = static_cast<std::size_t>(good_end_);
  while (from < bytes_.size()) {
    const std::size_t found = bytes_.find(magic, from);
    if (found == std::string_view::npos) return std::nullopt;
    if (auto record = at(found)) {
      skipped_ += found - good_end_;
      good_end_ = record->offset + record->length;
      return record;
    }
    from = found + 1;
  }
  return std::nullopt;
}

}  // namespace logarithm::agent
