#include <algorithm>

#include "agent/spool/segment_reader.h"
#include "agent/spool/spool.h"
#include "common/base/logging.h"
#include "common/io/crc32c.h"

// The part of the spool that makes, fills and removes segment files.
namespace logarithm::agent {

using segment_format::RecordType;

namespace {

constexpr std::uint64_t kPlenty = 64u << 20;

}  // namespace

Status Spool::make_room(BlockingToken& token, std::size_t bytes) {
  // A snapshot that is larger than a segment must not make every append a new segment.
  const std::uint64_t limit = std::max(options_.segment_bytes, 4 * snapshot_bytes_);
  if (has_current() && !failed_ && current().bytes + bytes <= std::max(limit, bytes)) {
    // goes on in this one
  } else {
    LGR_CHECK(roll(token));
  }
  if (stats_.bytes + bytes > options_.max_bytes && current().unacked == 0 &&
      current().bytes > snapshot_bytes_) {
    LGR_CHECK(roll(token));  // everything in it is done: it only takes room
  }
  if (stats_.bytes + bytes > options_.max_bytes) {
    ++stats_.full;
    return Error(ErrorCode::no_space, "spool is full: " + std::to_string(stats_.bytes) + " of " +
                                          std::to_string(options_.max_bytes) + " bytes");
  }
  // Asking costs more than a small append: where there is plenty it is done once a second.
  const auto now = clock_.now();
  const bool plenty = free_ >= options_.min_free + bytes + kPlenty;
  if (!plenty || now >= ask_free_at_) {
    LGR_TRY(free_, files_.free_bytes(token, options_.directory));
    ask_free_at_ = now + std::chrono::seconds(1);
  }
  if (free_ < options_.min_free + bytes) {
    ++stats_.full;
    return Error(ErrorCode::no_space,
                 options_.directory + ": only " + std::to_string(free_) + " bytes are free");
  }
  free_ -= std::min<std::uint64_t>(free_, bytes);
  return {};
}

std::string Spool::snapshot(std::uint64_t sequence) const {
  std::string bytes;
  HeaderRecord header;
  header.sequence = sequence;
  header.next_number = index_.next_number;
  header.next_fact = index_.next_fact;
  append_record(bytes, RecordType::header, encode(header));
  for (const auto& [id, stream] : index_.streams) {
    if (stream.versions.empty()) continue;
    const std::string facts = encode(facts_of(stream));
    append_record(bytes, RecordType::stream, facts);
    CheckpointRecord checkpoint;
    checkpoint.stream = id;
    checkpoint.facts_crc = crc32c(facts);
    checkpoint.at = position_of(stream.checkpoint);
    checkpoint.last = stream.last;
    checkpoint.forgotten = stream.forgotten;
    checkpoint.unacked.assign(stream.unacked.begin(), stream.unacked.end());
    append_record(bytes, RecordType::checkpoint, encode(checkpoint));
  }
  for (const auto& [id, fact] : index_.facts) append_record(bytes, RecordType::fact, encode(fact));
  NumbersRecord acked;
  acked.numbers = dropped_;
  acked.numbers.insert(acked.numbers.end(), lazy_acks_.begin(), lazy_acks_.end());
  if (!acked.numbers.empty()) append_record(bytes, RecordType::ack, encode(acked));
  return bytes;
}

Status Spool::roll(BlockingToken& token) {
  if (has_current() && !failed_) {
    // So that the snapshot never knows more than the segments before it after a power cut.
    LGR_CHECK(flush_lazy(token));
    LGR_CHECK(sync_current(token));
  }
  const std::uint64_t sequence = current_sequence_ + 1;
  const std::string path = segment_path(options_.directory, sequence);
  const std::string bytes = snapshot(sequence);
  LGR_TRY(auto file, files_.open_append(token, path));
  // A file of this name can only be left from an attempt that failed.
  Status made = file->truncate(token, 0);
  if (made.ok()) made = file->append(token, bytes);
  if (made.ok()) made = file->sync(token);
  if (made.ok()) made = files_.sync_dir(token, options_.directory);
  if (!made.ok()) {
    ++stats_.write_errors;
    file.reset();
    const Status removed = files_.remove(token, path);
    if (!removed.ok()) LGR_WARN("segment not removed error={}", removed.error().to_string());
    return std::move(made).with_context("new spool segment");
  }
  file_ = std::move(file);
  current_sequence_ = sequence;
  Segment& segment = index_.segments[sequence];
  segment.sequence = sequence;
  segment.bytes = snapshot_bytes_ = bytes.size();
  failed_ = dirty_ = sync_soon_ = false;
  dropped_.clear();
  lazy_acks_.clear();
  lazy_facts_.clear();
  for (auto& [id, stream] : index_.streams) {
    if (!stream.versions.empty()) stream.facts_crc = crc32c(encode(facts_of(stream)));
  }
  last_sync_ = clock_.now();
  trim(token);
  update_stats();
  return {};
}

Status Spool::put(BlockingToken& token, std::string_view records) {
  Segment& segment = current();
  const Status written = file_->append(token, records);
  if (!written.ok()) {
    ++stats_.write_errors;
    if (written.error().code() == ErrorCode::no_space) ++stats_.full;
    if (!file_->truncate(token, segment.bytes).ok()) failed_ = true;
    return written;
  }
  segment.bytes += records.size();
  dirty_ = sync_soon_ = true;
  if (clock_.now() - last_sync_ >= options_.sync_interval) tick(token);
  return {};
}

Status Spool::flush_lazy(BlockingToken& token) {
  if (lazy_acks_.empty() && lazy_facts_.empty()) return {};
  std::string bytes;
  NumbersRecord record;
  record.numbers = lazy_acks_;
  if (!record.numbers.empty()) append_record(bytes, RecordType::ack, encode(record));
  record.numbers = lazy_facts_;
  if (!record.numbers.empty()) append_record(bytes, RecordType::fact_done, encode(record));
  lazy_acks_.clear();
  lazy_facts_.clear();
  const bool soon = sync_soon_;
  LGR_CHECK(put(token, bytes));
  sync_soon_ = soon;
  return {};
}

Status Spool::sync_current(BlockingToken& token) {
  last_sync_ = clock_.now();
  if (!dirty_) return {};
  const Status synced = file_->sync(token);
  if (!synced.ok()) {
    // The kernel may have dropped what it could not write; only a new segment is known to be good.
    ++stats_.write_errors;
    failed_ = true;
    return synced;
  }
  dirty_ = sync_soon_ = false;
  return {};
}

void Spool::tick(BlockingToken& token) {
  if (clock_.now() - last_sync_ < options_.sync_interval) return;
  last_sync_ = clock_.now();
  if (!has_current() && (!lazy_acks_.empty() || !lazy_facts_.empty())) {
    // Old segments are done although nothing was appended since the start.
    const Status rolled = roll(token);
    if (!rolled.ok()) LGR_WARN("spool not trimmed error={}", rolled.error().to_string());
  }
  if (!has_current() || failed_) return;
  Status done = flush_lazy(token);
  if (done.ok() && !failed_ && sync_soon_) done = sync_current(token);
  if (!done.ok()) LGR_WARN("spool not synced error={}", done.error().to_string());
}

void Spool::trim(BlockingToken& token) {
  if (!has_current() || failed_) return;
  const auto removable = [&] {
    const auto oldest = index_.segments.begin();
    return oldest != index_.segments.end() && oldest->first != current_sequence_ &&
           oldest->second.unacked == 0;
  };
  if (!removable()) return;
  // The acks must be known before the blocks are gone: their numbers are in the snapshot.
  if (!flush_lazy(token).ok() || !sync_current(token).ok()) return;
  while (removable()) {
    const std::uint64_t sequence = index_.segments.begin()->first;
    const Status removed = files_.remove(token, segment_path(options_.directory, sequence));
    if (!removed.ok() && removed.error().code() != ErrorCode::not_found) {
      ++stats_.write_errors;
      LGR_WARN("segment not removed error={}", removed.error().to_string());
      return;
    }
    if (read_sequence_ == sequence) read_file_.reset();
    index_.segments.erase(sequence);
  }
  update_stats();
}

Status Spool::close(BlockingToken& token) {
  if (!has_current()) {
    // Nothing was appended in this run; lost acks are only sent again.
    return {};
  }
  if (failed_) return Error(ErrorCode::io, "spool: the last segment could not be written");
  LGR_CHECK(flush_lazy(token));
  return sync_current(token);
}

}  // namespace logarithm::agent
