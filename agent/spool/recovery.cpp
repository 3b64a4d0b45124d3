#include "agent/spool/recovery.h"

#include <charconv>
#include <cstdio>
#include <optional>

#include "agent/spool/segment_reader.h"
#include "common/base/logging.h"
#include "common/io/crc32c.h"

namespace logarithm::agent {
namespace {

using segment_format::RecordType;

constexpr std::size_t kKeptBad = 4;

std::optional<std::uint64_t> sequence_of(std::string_view name) {
  constexpr std::string_view prefix = "spool-", suffix = ".seg";
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  name = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  std::uint64_t sequence = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), sequence);
  if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) return std::nullopt;
  return sequence;
}

// One record; false when its payload is no such record although its CRC fits (another version).
bool replay(SpoolIndex& index, Segment& segment, const SegmentRecord& record) {
  switch (record.type) {
    case RecordType::header: {
      const auto header = decode_header(record.payload);
      if (header.ok()) index.replay_header(*header);
      return header.ok();
    }
    case RecordType::stream: {
      auto stream = decode_stream(record.payload);
      if (stream.ok()) index.replay_stream(std::move(*stream), crc32c(record.payload));
      return stream.ok();
    }
    case RecordType::checkpoint: {
      const auto checkpoint = decode_checkpoint(record.payload);
      if (checkpoint.ok()) index.replay_checkpoint(*checkpoint);
      return checkpoint.ok();
    }
    case RecordType::append: {
      const auto append = decode_append(record.payload);
      if (append.ok()) index.replay_append(segment, *append, record.offset, record.length);
      return append.ok();
    }
    case RecordType::fact: {
      auto fact = decode_fact(record.payload);
      if (fact.ok()) index.add_fact(std::move(*fact));
      return fact.ok();
    }
    case RecordType::fact_done: {
      const auto done = decode_numbers(record.payload);
      if (!done.ok()) return false;
      for (const std::uint64_t id : done->numbers) index.fact_done(id);
      return true;
    }
    case RecordType::ack: {
      const auto acked = decode_numbers(record.payload);
      if (!acked.ok()) return false;
      for (const std::uint64_t number : acked->numbers) index.ack(number);
      return true;
    }
    case RecordType::forget: {
      const auto forget = decode_forget(record.payload);
      if (forget.ok()) index.forget(forget->stream);
      return forget.ok();
    }
  }
  return false;
}

// A read that fails once may work the next time; one that fails twice is a bad disk.
Result<std::string> read_segment(BlockingToken& token, FileSystem& files, const std::string& path) {
  auto bytes = read_file(token, files, path, segment_format::kMaxSegment);
  if (bytes.ok() || bytes.error().code() != ErrorCode::io) return bytes;
  return read_file(token, files, path, segment_format::kMaxSegment);
}

bool readable_version(std::string_view bytes) {
  SegmentReader reader(bytes);
  const auto first = reader.next();
  if (!first) return false;
  if (first->type != RecordType::header) return true;  // the header itself is damaged
  const auto header = decode_header(first->payload);
  return header.ok() && header->version <= segment_format::kVersion;
}

Status replay_segment(BlockingToken& token, FileSystem& files, const std::string& directory,
                      std::uint64_t sequence, bool newest, SpoolIndex& index,
                      RecoveryReport& report) {
  const std::string path = segment_path(directory, sequence);
  auto bytes = read_segment(token, files, path);
  if (!bytes.ok() && bytes.error().code() != ErrorCode::io &&
      bytes.error().code() != ErrorCode::too_large) {
    return bytes.error();
  }
  if (!bytes.ok() || !readable_version(*bytes)) {
    // Empty: the crash came between making the file and its first write.
    if (bytes.ok() && bytes->empty()) return files.remove(token, path);
    ++report.quarantined;
    return quarantine(token, files, directory, segment_path("", sequence).substr(1));
  }
  Segment& segment = index.segments[sequence];
  segment.sequence = sequence;
  segment.bytes = bytes->size();
  SegmentReader reader(*bytes);
  bool first = true;
  while (const auto record = reader.next()) {
    ++report.records;
    // A damaged header: what follows may still be a snapshot, so nothing older is certain.
    if (first && record->type != RecordType::header) index.replay_header({});
    first = false;
    if (!replay(index, segment, *record)) report.skipped_bytes += record->length;
  }
  report.skipped_bytes += reader.skipped();
  ++report.segments;
  const std::uint64_t tail = bytes->size() - reader.good_end();
  if (!newest) {
    report.skipped_bytes += tail;
    return {};
  }
  // A kill leaves bytes that no sync has reached: what we build on must survive a power cut.
  LGR_TRY(auto file, files.open_append(token, path));
  if (tail != 0) {
    report.torn_bytes += tail;
    LGR_CHECK(file->truncate(token, reader.good_end()));
    segment.bytes = reader.good_end();
  }
  return file->sync(token);
}

}  // namespace

std::string segment_path(const std::string& directory, std::uint64_t sequence) {
  char name[48];
  std::snprintf(name, sizeof name, "/spool-%012llu.seg", static_cast<unsigned long long>(sequence));
  return directory + name;
}

Status quarantine(BlockingToken& token, FileSystem& files, const std::string& directory,
                  const std::string& name) {
  LGR_WARN("quarantined file={} reason=unreadable", directory + "/" + name);
  LGR_CHECK(files.rename(token, directory + "/" + name, directory + "/" + name + ".bad"));
  LGR_TRY(const std::vector<std::string> names, files.list(token, directory));
  std::vector<std::string> bad;
  for (const std::string& other : names) {
    if (other.ends_with(".bad")) bad.push_back(other);
  }
  for (std::size_t i = 0; i + kKeptBad < bad.size(); ++i) {
    LGR_CHECK(files.remove(token, directory + "/" + bad[i]));
  }
  return {};
}

Result<RecoveryReport> recover_segments(BlockingToken& token, FileSystem& files,
                                        const std::string& directory, SpoolIndex& index,
                                        std::vector<std::uint64_t>& dropped) {
  LGR_TRY(const std::vector<std::string> names, files.list(token, directory));
  std::vector<std::uint64_t> sequences;
  for (const std::string& name : names) {
    if (const auto sequence = sequence_of(name)) sequences.push_back(*sequence);
  }
  RecoveryReport report;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    LGR_CHECK(replay_segment(token, files, directory, sequences[i], i + 1 == sequences.size(),
                             index, report));
  }
  dropped = index.finish_replay();
  report.broken_streams = index.broken_streams();
  return report;
}

}  // namespace logarithm::agent
