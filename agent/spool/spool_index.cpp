#include "agent/spool/spool_index.h"

#include <algorithm>

namespace logarithm::agent {

StreamRecord facts_of(const SpooledStream& stream) {
  StreamRecord record;
  record.stream = stream.checkpoint.stream;
  record.head = stream.checkpoint.head;
  record.predecessor = stream.checkpoint.predecessor;
  record.source = stream.facts_source;
  record.versions = stream.versions;
  return record;
}

StreamPosition position_of(const StreamCheckpoint& checkpoint) {
  StreamPosition at;
  at.position = checkpoint.position;
  at.tail_crc = checkpoint.tail_crc;
  at.parser_state = checkpoint.parser_state;
  at.closed = checkpoint.closed;
  at.close_reason = checkpoint.close_reason;
  at.close_size = checkpoint.close_size;
  at.source = checkpoint.source;
  return at;
}

void SpoolIndex::replay_header(const HeaderRecord& record) {
  next_number = std::max(next_number, record.next_number);
  next_fact = std::max(next_fact, record.next_fact);
  // A snapshot follows and is the whole truth about streams and facts; blocks lie where they lie.
  for (auto& [id, stream] : streams) stream.stale = true;
  facts.clear();
  process_facts_.clear();
  closed_facts_.clear();
  for (auto& [id, stream] : streams) stream.facts = 0;
}

void SpoolIndex::replay_stream(StreamRecord record, std::uint32_t crc) {
  const StreamId id = record.stream;
  replayed_facts_[id] = {crc, std::move(record)};
}

namespace {

void take_facts(SpooledStream& stream, const StreamRecord& facts, std::uint32_t crc) {
  stream.facts_crc = crc;
  stream.versions = facts.versions;
  stream.checkpoint.stream = facts.stream;
  stream.checkpoint.head = facts.head;
  stream.checkpoint.predecessor = facts.predecessor;
  stream.facts_source = facts.source;
  stream.checkpoint.source = facts.source;
  stream.checkpoint.attributes = facts.versions.back();
}

}  // namespace

void SpoolIndex::replay_checkpoint(const CheckpointRecord& record) {
  const auto facts_found = replayed_facts_.find(record.stream);
  if (facts_found == replayed_facts_.end() || facts_found->second.first != record.facts_crc) return;
  SpooledStream& stream = streams[record.stream];
  take_facts(stream, facts_found->second.second, record.facts_crc);
  stream.stale = stream.broken = false;
  stream.revision = ++revision;
  stream.forgotten = record.forgotten;
  stream.missing.clear();
  for (const std::uint64_t number : record.unacked) {
    next_number = std::max(next_number, number + 1);
    if (!blocks.contains(number)) stream.missing.insert(number);
  }
  apply(record.stream, record.at, record.last);
}

void SpoolIndex::replay_append(Segment& segment, const AppendRecord& record, std::uint64_t offset,
                               std::uint64_t length) {
  next_number = std::max(next_number, record.number + 1);
  for (const TemplateDef& def : record.templates) {
    segment.templates[def.id] = {static_cast<std::uint32_t>(offset)};
  }
  const auto facts_found = replayed_facts_.find(record.stream);
  const bool known_facts =
      facts_found != replayed_facts_.end() && facts_found->second.first == record.facts_crc;
  const auto found = streams.find(record.stream);
  const bool follows = record.previous == 0 || (found != streams.end() && !found->second.broken &&
                                                found->second.last == record.previous);
  const bool decodable = std::all_of(record.needs.begin(), record.needs.end(),
                                     [&](TemplateId id) { return segment.templates.contains(id); });
  if (!known_facts || !follows || !decodable) {
    if (found != streams.end()) found->second.broken = true;
    if (record.has_block) dropped_.push_back(record.number);
    return;
  }
  SpooledStream& stream = streams[record.stream];
  // The chain is whole, so what is known of the stream is current.
  stream.stale = stream.broken = false;
  if (stream.facts_crc != record.facts_crc || stream.versions.empty()) {
    take_facts(stream, facts_found->second.second, record.facts_crc);
    stream.revision = ++revision;
  }
  stream.forgotten = false;
  apply(record.stream, record.at, record.number);
  if (!record.has_block) return;
  SpooledEntry entry;
  entry.segment = segment.sequence;
  entry.offset = offset;
  entry.length = static_cast<std::uint32_t>(length);
  entry.attributes_version = record.attributes_version;
  entry.stream = record.stream;
  entry.range = {record.first, record.end};
  add_block(segment, record.number, entry);
}

std::vector<std::uint64_t> SpoolIndex::finish_replay() {
  std::vector<std::uint64_t> out = std::move(dropped_);
  dropped_.clear();
  for (auto& [id, stream] : streams) {
    // Lost blocks: those before the loss are sent, and where the stream goes on is asked of the
    // aggregator, as for a file that nobody knows.
    if (!stream.missing.empty()) {
      const std::uint64_t lost = *stream.missing.begin();
      out.insert(out.end(), stream.unacked.upper_bound(lost), stream.unacked.end());
      stream.forgotten = true;
    }
    if (stream.stale || stream.versions.empty()) stream.forgotten = true;
    if (stream.broken || !stream.missing.empty()) ++broken_streams_;
    stream.broken = stream.stale = false;
    stream.missing.clear();
  }
  for (const std::uint64_t number : out) ack(number);
  std::vector<StreamId> ids;
  for (const auto& [id, stream] : streams) ids.push_back(id);
  for (const StreamId& id : ids) erase_if_done(id);
  replayed_facts_.clear();
  return out;
}

void SpoolIndex::apply(StreamId id, const StreamPosition& at, std::uint64_t number) {
  SpooledStream& stream = streams[id];
  StreamCheckpoint& checkpoint = stream.checkpoint;
  checkpoint.stream = id;
  checkpoint.position = at.position;
  checkpoint.tail_crc = at.tail_crc;
  checkpoint.parser_state = at.parser_state;
  checkpoint.closed = at.closed;
  checkpoint.close_reason = at.close_reason;
  checkpoint.close_size = at.close_size;
  if (at.source) checkpoint.source = *at.source;
  stream.last = number;
}

void SpoolIndex::add_block(Segment& segment, std::uint64_t number, const SpooledEntry& entry) {
  blocks[number] = entry;
  streams[entry.stream].unacked.insert(number);
  ++segment.unacked;
}

void SpoolIndex::add_fact(Fact fact) {
  next_fact = std::max(next_fact, fact.id + 1);
  const std::uint64_t id = fact.id;
  if (const auto* process = std::get_if<ProcessInfo>(&fact.value)) {
    const std::string key = process->key();
    const auto older = process_facts_.find(key);
    if (older != process_facts_.end()) facts.erase(older->second);
    process_facts_[key] = id;
  } else if (const auto* closed = std::get_if<wire::Closed>(&fact.value)) {
    drop_closed(closed->stream);
    closed_facts_[closed->stream] = id;
    ++streams[closed->stream].facts;
  } else if (const auto* report = std::get_if<wire::GapReport>(&fact.value)) {
    ++streams[report->stream].facts;
  }
  facts.insert_or_assign(id, std::move(fact));
  ++facts_revision;
}

void SpoolIndex::drop_closed(const StreamId& stream) {
  const auto found = closed_facts_.find(stream);
  if (found != closed_facts_.end()) fact_done(found->second);
}

void SpoolIndex::fact_done(std::uint64_t id) {
  const auto found = facts.find(id);
  if (found == facts.end()) return;
  const Fact fact = std::move(found->second);
  facts.erase(found);
  if (const auto* process = std::get_if<ProcessInfo>(&fact.value)) {
    process_facts_.erase(process->key());
    return;
  }
  StreamId stream;
  if (const auto* closed = std::get_if<wire::Closed>(&fact.value)) {
    stream = closed->stream;
    closed_facts_.erase(stream);
  } else {
    stream = std::get<wire::GapReport>(fact.value).stream;
  }
  const auto owner = streams.find(stream);
  if (owner == streams.end()) return;
  if (owner->second.facts > 0) --owner->second.facts;
  erase_if_done(stream);
}

void SpoolIndex::ack(std::uint64_t number) {
  next_number = std::max(next_number, number + 1);
  const auto found = blocks.find(number);
  if (found == blocks.end()) {
    // Acked after a snapshot had listed it, in a segment that is gone.
    for (auto& [id, stream] : streams) stream.missing.erase(number);
    return;
  }
  const SpooledEntry entry = found->second;
  blocks.erase(found);
  const auto segment = segments.find(entry.segment);
  if (segment != segments.end()) --segment->second.unacked;
  const auto owner = streams.find(entry.stream);
  if (owner == streams.end()) return;
  owner->second.unacked.erase(number);
  if (owner->second.unacked.empty() && owner->second.facts > 0) ++facts_revision;
  erase_if_done(entry.stream);
}

void SpoolIndex::forget(const StreamId& stream) {
  const auto found = streams.find(stream);
  if (found == streams.end()) return;
  found->second.forgotten = true;
  erase_if_done(stream);
}

void SpoolIndex::erase_if_done(const StreamId& id) {
  const auto found = streams.find(id);
  if (found == streams.end()) return;
  const SpooledStream& stream = found->second;
  // While a replay runs, blocks and facts may still come.
  if (stream.stale || stream.broken || !stream.missing.empty()) return;
  if (stream.forgotten && stream.unacked.empty() && stream.facts == 0) streams.erase(found);
}

bool SpoolIndex::deliverable(const Fact& fact) const {
  const auto* closed = std::get_if<wire::Closed>(&fact.value);
  if (closed == nullptr) return true;
  const auto owner = streams.find(closed->stream);
  return owner == streams.end() || owner->second.unacked.empty();
}

}  // namespace logarithm::agent
