#include "agent/spool/spool.h"

#include <algorithm>

#include "agent/spool/segment_reader.h"
#include "agent/spool/state_file.h"
#include "common/base/logging.h"
#include "common/io/crc32c.h"

namespace logarithm::agent {

using segment_format::RecordType;

Spool::Spool(SpoolOptions options, FileSystem& files, Clock& clock)
    : options_(std::move(options)),
      files_(files),
      clock_(clock),
      dead_letter_(files, options_.directory + "/dead_letter.ndjson", options_.dead_letter_bytes) {}

void Spool::set_limits(std::uint64_t max_bytes, std::uint64_t segment_bytes,
                       std::uint64_t min_free) {
  options_.max_bytes = max_bytes;
  options_.segment_bytes = segment_bytes;
  options_.min_free = min_free;
}

Result<std::unique_ptr<Spool>> Spool::open(BlockingToken& token, SpoolOptions options,
                                           FileSystem& files, Clock& clock) {
  std::unique_ptr<Spool> spool(new Spool(std::move(options), files, clock));
  const std::string& directory = spool->options_.directory;
  LGR_CHECK(files.make_dir(token, directory));
  LGR_TRY(spool->lock_, files.lock(token, directory + "/lock"));
  LGR_TRY(LoadedState state, load_state(token, files, directory, clock));
  LGR_TRY(spool->report_,
          recover_segments(token, files, directory, spool->index_, spool->dropped_));
  if (spool->report_.damaged()) state.state.created_at = clock.wall_now();
  if (state.made_now || spool->report_.damaged()) {
    LGR_CHECK(save_state(token, files, directory, state.state));
  }
  spool->created_at_ = state.state.created_at;
  if (!spool->index_.segments.empty()) {
    spool->current_sequence_ = spool->index_.segments.rbegin()->first;
  }
  spool->last_sync_ = clock.now();
  spool->update_stats();
  const RecoveryReport& report = spool->report_;
  LGR_INFO(
      "spool open segments={} records={} blocks={} streams={} torn_bytes={} skipped_bytes={} "
      "broken_streams={} quarantined={}",
      report.segments, report.records, spool->index_.blocks.size(), spool->index_.streams.size(),
      report.torn_bytes, report.skipped_bytes, report.broken_streams, report.quarantined);
  return spool;
}

std::vector<StreamCheckpoint> Spool::recovered() const {
  std::vector<StreamCheckpoint> out;
  for (const auto& [id, stream] : index_.streams) {
    if (!stream.forgotten) out.push_back(stream.checkpoint);
  }
  return out;
}

Status Spool::append(BlockingToken& token, const StreamCheckpoint& checkpoint,
                     const EncodedBlock* block) {
  return write(token, checkpoint, block, nullptr);
}

Status Spool::append_gap(BlockingToken& token, const StreamCheckpoint& checkpoint, const Gap& gap) {
  return write(token, checkpoint, nullptr, &gap);
}

namespace {

bool same_facts(const SpooledStream& stream, const StreamCheckpoint& checkpoint) {
  return stream.checkpoint.attributes == checkpoint.attributes &&
         stream.checkpoint.head == checkpoint.head &&
         stream.checkpoint.predecessor == checkpoint.predecessor;
}

// Older versions are kept beside those that kept blocks use, for a block that must be made again.
constexpr std::ptrdiff_t kKeptVersions = 16;

// Puts the newest version in and drops the oldest, but none that a kept block uses.
void update_versions(std::vector<StreamAttributes>& versions, const StreamAttributes& newest,
                     std::uint32_t oldest_used) {
  std::erase_if(versions,
                [&](const StreamAttributes& version) { return version.version >= newest.version; });
  versions.push_back(newest);
  while (std::ssize(versions) > kKeptVersions && versions.front().version < oldest_used) {
    versions.erase(versions.begin());
  }
}

std::size_t room_for(const StreamCheckpoint& checkpoint, const EncodedBlock* block) {
  std::size_t bytes =
      1024 + checkpoint.parser_state.size() + checkpoint.source.size() + checkpoint.head.size();
  if (block == nullptr) return bytes;
  bytes += block->bytes.size();
  for (const TemplateDef& def : block->templates) bytes += 24 + def.text.size();
  return bytes;
}

}  // namespace

Status Spool::write(BlockingToken& token, const StreamCheckpoint& checkpoint,
                    const EncodedBlock* block, const Gap* gap) {
  const std::size_t room = room_for(checkpoint, block);
  if (room > segment_format::kMaxPayload) {
    return Error(ErrorCode::too_large, "block of " + std::to_string(room) + " bytes");
  }
  LGR_CHECK(make_room(token, room));
  const StreamId& id = checkpoint.stream;
  const auto found = index_.streams.find(id);
  const bool known = found != index_.streams.end() && !found->second.versions.empty();

  std::string bytes;
  StreamRecord facts;
  std::uint32_t facts_crc = known ? found->second.facts_crc : 0;
  const bool new_facts = !known || !same_facts(found->second, checkpoint);
  if (new_facts) {
    facts.stream = id;
    facts.head = checkpoint.head;
    facts.predecessor = checkpoint.predecessor;
    std::uint32_t oldest = checkpoint.attributes.version;
    if (known) {
      facts.versions = found->second.versions;
      for (const std::uint64_t number : found->second.unacked) {
        oldest = std::min(oldest, index_.blocks.at(number).attributes_version);
      }
    }
    update_versions(facts.versions, checkpoint.attributes, oldest);
    const std::string payload = encode(facts);
    facts_crc = crc32c(payload);
    append_record(bytes, RecordType::stream, payload);
  }

  AppendRecord record;
  record.number = index_.next_number++;
  record.previous = known && !found->second.forgotten ? found->second.last : 0;
  record.stream = id;
  record.facts_crc = facts_crc;
  record.at = position_of(checkpoint);
  if (block != nullptr) {
    record.has_block = true;
    record.attributes_version = block->header.attributes_version;
    record.first = block->header.first;
    record.end = block->header.end;
    record.block = block->bytes;
    for (const TemplateDef& def : block->templates) {
      record.needs.push_back(def.id);
      if (!current().templates.contains(def.id)) record.templates.push_back(def);
    }
  }
  const std::string payload = encode(record);
  const std::uint64_t offset = current().bytes + bytes.size();
  append_record(bytes, RecordType::append, payload);
  const std::uint64_t length = current().bytes + bytes.size() - offset;

  std::vector<Fact> added;
  if (gap != nullptr) {
    wire::GapReport report;
    report.stream = id;
    report.job = checkpoint.attributes.job;
    report.gap = *gap;
    added.push_back({index_.next_fact++, std::move(report)});
  }
  const bool was_closed = known && !found->second.forgotten && found->second.checkpoint.closed;
  // Told again with every such record: the aggregator may have lost it.
  if (checkpoint.closed) {
    wire::Closed closed;
    closed.stream = id;
    closed.job = checkpoint.attributes.job;
    closed.size = checkpoint.close_size;
    closed.reason = checkpoint.close_reason;
    added.push_back({index_.next_fact++, std::move(closed)});
  }
  for (const Fact& fact : added) append_record(bytes, RecordType::fact, encode(fact));

  const Status written = put(token, bytes);
  if (!written.ok()) {
    // The record may be whole in the file although we say that it is not.
    if (block != nullptr) dropped_.push_back(record.number);
    return written;
  }

  SpooledStream& stream = index_.streams[id];
  if (new_facts) {
    stream.versions = std::move(facts.versions);
    stream.facts_crc = facts_crc;
    stream.facts_source.clear();
    stream.revision = ++index_.revision;
    stream.checkpoint = checkpoint;
  }
  // A gap or an end is told behind what it belongs to: the aggregator may have lost the stream.
  if (!added.empty()) stream.revision = ++index_.revision;
  stream.forgotten = false;
  index_.apply(id, record.at, record.number);
  if (was_closed && !checkpoint.closed) index_.drop_closed(id);
  if (block != nullptr) {
    for (const TemplateDef& def : record.templates) {
      current().templates[def.id] = {static_cast<std::uint32_t>(offset)};
    }
    SpooledEntry entry;
    entry.segment = current_sequence_;
    entry.offset = offset;
    entry.length = static_cast<std::uint32_t>(length);
    entry.attributes_version = record.attributes_version;
    entry.stream = id;
    entry.range = {record.first, record.end};
    index_.add_block(current(), record.number, entry);
    ++stats_.appended_blocks;
    stats_.appended_bytes += block->bytes.size();
  }
  for (Fact& fact : added) index_.add_fact(std::move(fact));
  changed();
  return {};
}

Status Spool::append_processes(BlockingToken& token, const std::vector<ProcessInfo>& processes) {
  std::vector<Fact> facts;
  for (const ProcessInfo& process : processes) facts.push_back({index_.next_fact++, process});
  return write_facts(token, std::move(facts));
}

Status Spool::write_facts(BlockingToken& token, std::vector<Fact> facts) {
  if (facts.empty()) return {};
  std::string bytes;
  for (const Fact& fact : facts) append_record(bytes, RecordType::fact, encode(fact));
  LGR_CHECK(make_room(token, bytes.size()));
  LGR_CHECK(put(token, bytes));
  for (Fact& fact : facts) index_.add_fact(std::move(fact));
  changed();
  return {};
}

bool Spool::acknowledged(const StreamId& stream, std::uint64_t offset) const {
  const auto found = index_.streams.find(stream);
  if (found == index_.streams.end() || found->second.unacked.empty()) return true;
  return std::all_of(
      found->second.unacked.begin(), found->second.unacked.end(),
      [&](std::uint64_t number) { return index_.blocks.at(number).range.first >= offset; });
}

Status Spool::forget(BlockingToken& token, const StreamId& stream) {
  const auto found = index_.streams.find(stream);
  if (found == index_.streams.end() || found->second.forgotten) return {};
  if (!found->second.unacked.empty()) {
    return Error(ErrorCode::conflict, "forget " + to_text(stream) + ": it has blocks to send");
  }
  std::string bytes;
  ForgetRecord record;
  record.stream = stream;
  append_record(bytes, RecordType::forget, encode(record));
  LGR_CHECK(make_room(token, bytes.size()));
  LGR_CHECK(put(token, bytes));
  index_.forget(stream);
  update_stats();
  return {};
}

void Spool::ack(BlockingToken& token, const std::vector<std::uint64_t>& blocks) {
  for (const std::uint64_t number : blocks) {
    if (!index_.blocks.contains(number)) continue;
    index_.ack(number);
    lazy_acks_.push_back(number);
    ++stats_.acked_blocks;
  }
  trim(token);
  changed();
}

void Spool::facts_done(BlockingToken&, const std::vector<std::uint64_t>& facts) {
  for (const std::uint64_t id : facts) {
    if (!index_.facts.contains(id)) continue;
    index_.fact_done(id);
    lazy_facts_.push_back(id);
  }
  update_stats();
}

void Spool::changed() {
  update_stats();
  if (listener_) listener_();
}

void Spool::update_stats() {
  std::uint64_t bytes = 0;
  for (const auto& [sequence, segment] : index_.segments) bytes += segment.bytes;
  stats_.bytes = bytes;
  stats_.segments = index_.segments.size();
  stats_.streams = index_.streams.size();
  stats_.unacked_blocks = index_.blocks.size();
}

}  // namespace logarithm::agent
