#include <algorithm>
#include <map>

#include "agent/spool/segment_reader.h"
#include "agent/spool/spool.h"
#include "common/base/logging.h"
#include "common/block/block_reader.h"
#include "common/model/ranges.h"

// The part of the spool that gives back what is to be sent.
namespace logarithm::agent {
namespace {

constexpr std::size_t kMaxInfos = 256;
constexpr std::size_t kMaxFacts = 256;
// A connection that has been told so many templates is told them again, rather than growing.
constexpr std::size_t kMaxKnownTemplates = 200'000;

}  // namespace

Result<AppendRecord> Spool::read_append(BlockingToken& token, std::uint64_t segment,
                                        std::uint64_t offset, std::uint64_t length,
                                        std::string& bytes) {
  File* file = segment == current_sequence_ ? file_.get() : nullptr;
  if (file == nullptr) {
    if (read_file_ == nullptr || read_sequence_ != segment) {
      LGR_TRY(read_file_, files_.open_read(token, segment_path(options_.directory, segment)));
      read_sequence_ = segment;
    }
    file = read_file_.get();
  }
  if (length == 0) {
    LGR_TRY(const std::string frame, file->read_at(token, offset, segment_format::kRecordHeader));
    if (frame.size() < 8) return Error(ErrorCode::corrupt, "spool record is cut");
    for (std::size_t i = 0; i < 4; ++i) {
      length |= std::uint64_t{static_cast<unsigned char>(frame[4 + i])} << (8 * i);
    }
    length = std::min<std::uint64_t>(length, segment_format::kMaxPayload) +
             segment_format::kRecordHeader;
  }
  LGR_TRY(bytes, file->read_at(token, offset, static_cast<std::size_t>(length)));
  SegmentReader reader(bytes);
  const auto record = reader.next();
  if (!record || record->offset != 0 || record->type != segment_format::RecordType::append) {
    return Error(ErrorCode::corrupt, "spool record is damaged");
  }
  return decode_append(record->payload);
}

Result<std::vector<TemplateDef>> Spool::definitions(BlockingToken& token, const Segment& segment,
                                                    const AppendRecord& record,
                                                    const std::unordered_set<TemplateId>& have) {
  std::vector<TemplateDef> out;
  std::map<std::uint32_t, std::vector<TemplateId>> elsewhere;  // record offset -> ids
  for (const TemplateId id : record.needs) {
    if (have.contains(id)) continue;
    const auto own = std::find_if(record.templates.begin(), record.templates.end(),
                                  [&](const TemplateDef& def) { return def.id == id; });
    if (own != record.templates.end()) {
      out.push_back(*own);
      continue;
    }
    const auto place = segment.templates.find(id);
    if (place == segment.templates.end()) {
      return Error(ErrorCode::corrupt, "spool segment lacks a template");
    }
    elsewhere[place->second.append_offset].push_back(id);
  }
  for (const auto& [offset, ids] : elsewhere) {
    std::string bytes;
    LGR_TRY(const AppendRecord other, read_append(token, segment.sequence, offset, 0, bytes));
    for (const TemplateDef& def : other.templates) {
      if (std::find(ids.begin(), ids.end(), def.id) != ids.end()) out.push_back(def);
    }
  }
  return out;
}

Result<SpooledBlock> Spool::load(BlockingToken& token, std::uint64_t number,
                                 const SpooledEntry& entry,
                                 const std::unordered_set<TemplateId>& have) {
  std::string bytes;
  LGR_TRY(const AppendRecord record,
          read_append(token, entry.segment, entry.offset, entry.length, bytes));
  if (record.number != number) return Error(ErrorCode::corrupt, "spool record is another one");
  SpooledBlock out;
  out.number = number;
  LGR_TRY(out.templates, definitions(token, index_.segments.at(entry.segment), record, have));
  out.block.stream = entry.stream;
  out.block.first = entry.range.first;
  out.block.end = entry.range.end;
  out.block.bytes = record.block;
  const auto stream = index_.streams.find(entry.stream);
  if (stream != index_.streams.end()) {
    out.block.job = stream->second.checkpoint.attributes.job;
    for (const StreamAttributes& version : stream->second.versions) {
      if (version.version == entry.attributes_version) out.block.job = version.job;
    }
  }
  return out;
}

Result<SpooledBlock> Spool::read(BlockingToken& token, std::uint64_t number) {
  const auto found = index_.blocks.find(number);
  if (found == index_.blocks.end()) {
    return Error(ErrorCode::not_found, "block " + std::to_string(number));
  }
  return load(token, number, found->second, {});
}

std::vector<wire::StreamInfo> Spool::infos(const StreamId& id) const {
  std::vector<wire::StreamInfo> out;
  const auto found = index_.streams.find(id);
  if (found == index_.streams.end()) return out;
  for (const StreamAttributes& version : found->second.versions) {
    wire::StreamInfo info;
    info.stream = id;
    info.attributes = version;
    info.head = found->second.checkpoint.head;
    info.predecessor = found->second.checkpoint.predecessor;
    out.push_back(std::move(info));
  }
  return out;
}

KeptStream Spool::kept(const StreamId& stream) const {
  KeptStream out;
  const auto found = index_.streams.find(stream);
  if (found == index_.streams.end()) return out;
  out.versions = found->second.versions;
  for (const std::uint64_t number : found->second.unacked) {
    out.waiting.push_back(index_.blocks.at(number).range);
  }
  if (found->second.facts == 0) return out;
  for (const auto& [id, fact] : index_.facts) {
    const auto* report = std::get_if<wire::GapReport>(&fact.value);
    if (report != nullptr && report->stream == stream && report->gap.to) {
      out.waiting.push_back({report->gap.from, *report->gap.to});
    }
  }
  return out;
}

Result<bool> Spool::revive(BlockingToken& token, const StreamCheckpoint& checkpoint,
                           std::vector<Range>& lost, std::uint64_t& next) {
  const auto found = index_.segments.lower_bound(next);
  if (found == index_.segments.end() || lost.empty()) return false;
  const std::uint64_t sequence = found->first;
  const auto owner = index_.streams.find(checkpoint.stream);
  auto bytes = read_file(token, files_, segment_path(options_.directory, sequence),
                         segment_format::kMaxSegment);
  if (!bytes.ok() || owner == index_.streams.end()) {
    // What it held is read from the source again, or told as a gap.
    if (!bytes.ok()) LGR_WARN("segment not searched error={}", bytes.error().to_string());
    next = sequence + 1;
    return true;
  }
  SegmentReader reader(*bytes);
  while (const auto found_record = reader.next()) {
    if (found_record->type != segment_format::RecordType::append) continue;
    const auto record = decode_append(found_record->payload);
    if (!record.ok() || !record->has_block || record->stream != checkpoint.stream) continue;
    const Range range{record->first, record->end};
    if (index_.blocks.contains(record->number) || !without({range}, lost).empty()) continue;
    const auto& versions = owner->second.versions;
    const bool known = std::any_of(versions.begin(), versions.end(), [&](const auto& version) {
      return version.version == record->attributes_version;
    });
    auto header = parse_block_header(record->block);
    if (!known || !header.ok()) continue;
    // Appending may end segments and remove them, and so this one's index.
    const auto segment = index_.segments.find(sequence);
    if (segment == index_.segments.end()) break;
    auto templates = definitions(token, segment->second, *record, {});
    if (!templates.ok()) continue;
    EncodedBlock block;
    block.bytes = record->block;
    block.header = std::move(*header);
    block.templates = std::move(*templates);
    LGR_CHECK(append(token, checkpoint, &block));
    ++stats_.revived_blocks;
    lost = without(std::move(lost), {range});
  }
  next = sequence + 1;
  return true;
}

void Spool::give_infos(SpoolBatch& batch) const {
  if (batch.cursor.info_revision == index_.revision) return;
  std::map<std::uint64_t, StreamId> newer;
  for (const auto& [id, stream] : index_.streams) {
    if (stream.revision > batch.cursor.info_revision) newer[stream.revision] = id;
  }
  for (const auto& [revision, id] : newer) {
    if (batch.infos.size() >= kMaxInfos) return;
    for (wire::StreamInfo& info : infos(id)) batch.infos.push_back(std::move(info));
    batch.cursor.info_revision = revision;
  }
  batch.cursor.info_revision = index_.revision;
}

void Spool::give_facts(SpoolBatch& batch) const {
  if (batch.cursor.facts_revision == index_.facts_revision) return;
  std::erase_if(batch.cursor.facts, [&](std::uint64_t id) { return !index_.facts.contains(id); });
  for (const auto& [id, fact] : index_.facts) {
    if (batch.facts.size() >= kMaxFacts) return;
    if (batch.cursor.facts.contains(id) || !index_.deliverable(fact)) continue;
    batch.facts.push_back(fact);
    batch.cursor.facts.insert(id);
  }
  batch.cursor.facts_revision = index_.facts_revision;
}

SpoolBatch Spool::next(BlockingToken& token, SpoolCursor cursor, std::size_t max_bytes) {
  SpoolBatch batch;
  batch.cursor = std::move(cursor);
  give_infos(batch);
  // A block follows only the attributes it was made with.
  batch.more = batch.cursor.info_revision != index_.revision;
  if (batch.more) return batch;
  give_facts(batch);
  if (batch.cursor.templates.size() > kMaxKnownTemplates) batch.cursor.templates.clear();
  std::size_t bytes = 0;
  while (bytes < max_bytes) {
    const auto next = index_.blocks.upper_bound(batch.cursor.block);
    if (next == index_.blocks.end()) break;
    const std::uint64_t number = next->first;
    auto block = load(token, number, next->second, batch.cursor.templates);
    if (!block.ok()) {
      lose(token, number, block.error());
      batch.cursor.block = number;
      continue;
    }
    if (bytes != 0 && bytes + block->block.bytes.size() > max_bytes) break;
    batch.cursor.block = number;
    bytes += block->block.bytes.size();
    for (const TemplateDef& def : block->templates) batch.cursor.templates.insert(def.id);
    batch.blocks.push_back(std::move(*block));
  }
  batch.more = batch.cursor.facts_revision != index_.facts_revision ||
               index_.blocks.upper_bound(batch.cursor.block) != index_.blocks.end();
  return batch;
}

void Spool::lose(BlockingToken& token, std::uint64_t number, const Error& why) {
  const auto found = index_.blocks.find(number);
  if (found == index_.blocks.end()) return;
  ++stats_.lost_blocks;
  LGR_ERROR("spooled block lost number={} stream={} error={}", number,
            to_text(found->second.stream), why.to_string());
  const auto owner = index_.streams.find(found->second.stream);
  wire::GapReport report;
  report.stream = found->second.stream;
  if (owner != index_.streams.end()) report.job = owner->second.checkpoint.attributes.job;
  report.gap.from = found->second.range.first;
  report.gap.to = found->second.range.end;
  report.gap.reason = "spool_damaged";
  report.gap.at = clock_.wall_now();
  std::vector<Fact> facts;
  facts.push_back({index_.next_fact++, std::move(report)});
  const Fact kept = facts.front();
  // Told even when the disk does not take the note.
  if (!write_facts(token, std::move(facts)).ok()) index_.add_fact(kept);
  ack(token, {number});
}

void Spool::refused(BlockingToken& token, std::uint64_t number, const wire::Refuse& refuse) {
  auto block = read(token, number);
  if (!block.ok()) {
    if (block.error().code() != ErrorCode::not_found) lose(token, number, block.error());
    return;
  }
  const Status kept = dead_letter_.add(token, refuse, block->block.bytes);
  ++stats_.dead_letters;
  if (!kept.ok()) {
    ++stats_.dead_letters_dropped;
    LGR_WARN("dead letter not kept error={}", kept.error().to_string());
  }
  LGR_WARN("block refused stream={} first={} end={} code={} message={}", to_text(refuse.stream),
           refuse.first, refuse.end, wire::to_string(refuse.code), refuse.message);
  wire::GapReport report;
  report.stream = block->block.stream;
  report.job = block->block.job;
  const bool whole = refuse.end == 0;
  report.gap.from = whole ? block->block.first : refuse.first;
  report.gap.to = whole ? block->block.end : refuse.end;
  report.gap.reason = "refused";
  report.gap.at = clock_.wall_now();
  std::vector<Fact> facts;
  facts.push_back({index_.next_fact++, std::move(report)});
  const Fact told = facts.front();
  if (!write_facts(token, std::move(facts)).ok()) index_.add_fact(told);
  if (whole || refuse.end >= block->block.end) ack(token, {number});
}

}  // namespace logarithm::agent
