#include "aggregator/store/batch.h"

#include <algorithm>

#include "aggregator/store/model_text.h"
#include "aggregator/store/range_set.h"

namespace logarithm::aggregator {
namespace {

constexpr std::uint32_t kNoSpaceRetryMs = 5000;

IngestOutcome refuse(wire::RefuseCode code, std::string message) {
  IngestOutcome outcome;
  outcome.stored = false;
  outcome.refuse.emplace();
  outcome.refuse->code = code;
  outcome.refuse->message = std::move(message);
  return outcome;
}

template <typename Item>
IngestOutcome refuse(const Item& item, wire::RefuseCode code, std::string message) {
  IngestOutcome outcome = refuse(code, std::move(message));
  outcome.refuse->stream = item.stream;
  outcome.refuse->job = item.job;
  return outcome;
}

IngestOutcome refuse_block(const wire::Block& block, wire::RefuseCode code, std::string message) {
  IngestOutcome outcome = refuse(block, code, std::move(message));
  outcome.refuse->first = block.first;
  outcome.refuse->end = block.end;
  return outcome;
}

IngestOutcome unreadable(const wire::Block& block, const Error& error) {
  const auto code = error.code() == ErrorCode::unavailable ? wire::RefuseCode::unsupported
                                                           : wire::RefuseCode::corrupt;
  return refuse_block(block, code, error.message());
}

IngestOutcome foreign_job(std::string_view job) {
  return refuse(wire::RefuseCode::corrupt, "belongs to job \"" + std::string(job) + "\"");
}

// Why the envelope and the block disagree, empty when they agree.
std::string_view disagreement(const wire::Block& block, const BlockHeader& header) {
  if (header.stream != block.stream) return "another stream in the block than in its envelope";
  if (header.first != block.first || header.end != block.end) {
    return "another range in the block than in its envelope";
  }
  if (block.first >= block.end) return "an empty range";
  return {};
}

}  // namespace

Result<IngestOutcome> Batch::put(const IngestItem& item) {
  return std::visit([&](const auto& concrete) { return put(concrete); }, item);
}

Result<IngestOutcome> Batch::put(const wire::StreamInfo& info) {
  if (info.attributes.job != job_.job) return foreign_job(info.attributes.job);
  if (info.head.size() > kHeadBytes) return refuse(wire::RefuseCode::too_large, "head");
  LGR_TRY(Shard::Stream * known, local_stream(info.stream));
  if (known == nullptr) new_streams_.push_back(info.stream);
  LGR_CHECK(shard_.put_stream(token_, info));
  return IngestOutcome{};
}

Result<IngestOutcome> Batch::put(const wire::Processes& processes) {
  for (const ProcessInfo& process : processes.processes) {
    if (process.job != job_.job) return foreign_job(process.job);
  }
  for (const ProcessInfo& process : processes.processes) {
    LGR_CHECK(shard_.put_process(token_, process));
  }
  return IngestOutcome{};
}

Result<IngestOutcome> Batch::put(const wire::Templates& templates) {
  std::vector<TemplateId> conflicting;
  for (const TemplateDef& definition : templates.templates) {
    LGR_TRY(auto put, shard_.put_template(token_, definition));
    if (put == Shard::PutTemplate::conflict) conflicting.push_back(definition.id);
  }
  if (conflicting.empty()) return IngestOutcome{};
  conflicts_.insert(conflicting.begin(), conflicting.end());
  IngestOutcome outcome =
      refuse(wire::RefuseCode::template_conflict, "a fingerprint with another text is stored");
  outcome.refuse->job = job_.job;
  outcome.refuse->templates = std::move(conflicting);
  return outcome;
}

Result<IngestOutcome> Batch::put(const wire::Closed& closed) {
  LGR_TRY(Shard::Stream * stream, local_stream(closed.stream));
  if (stream == nullptr) {
    return refuse(closed, wire::RefuseCode::unknown_stream, "closed before it was opened");
  }
  LGR_CHECK(shard_.put_closed(token_, *stream, closed.size, closed.reason));
  return IngestOutcome{};
}

Result<IngestOutcome> Batch::put(const wire::GapReport& report) {
  LGR_TRY(Shard::Stream * stream, local_stream(report.stream));
  if (stream == nullptr) {
    return refuse(report, wire::RefuseCode::unknown_stream, "a gap before the stream was opened");
  }
  LGR_CHECK(shard_.put_gap(token_, *stream, report.gap));
  return IngestOutcome{};
}

Result<IngestOutcome> Batch::put(const wire::Block& block) {
  if (block.job != job_.job) {
    return refuse_block(block, wire::RefuseCode::corrupt, "sent to another job's shard");
  }
  if (block.bytes.size() > block_format::kMaxBlockBytes) {
    return refuse_block(block, wire::RefuseCode::too_large, "block");
  }
  auto reader = BlockReader::open(block.bytes);
  if (!reader.ok()) return unreadable(block, reader.error());
  const std::string_view why = disagreement(block, reader->header());
  if (!why.empty()) return refuse_block(block, wire::RefuseCode::corrupt, std::string(why));

  LGR_TRY(const std::vector<Range> stored, stored_ranges(block.stream));
  const Admission admission = admit(stored, Range{block.first, block.end});
  if (admission.kind == Admission::Kind::known) return IngestOutcome{};
  if (refuse_blocks_) {
    IngestOutcome outcome =
        refuse_block(block, wire::RefuseCode::no_space, "the aggregator's disk is full");
    outcome.refuse->retry_after_ms = kNoSpaceRetryMs;
    return outcome;
  }
  if (admission.kind == Admission::Kind::overlap) {
    IngestOutcome outcome =
        refuse_block(block, wire::RefuseCode::overlap, "its beginning is stored");
    outcome.refuse->resume_at = admission.resume_at;
    return outcome;
  }

  LGR_TRY(Shard::Stream * stream, local_stream(block.stream));
  if (stream == nullptr || !stream->versions.contains(reader->header().attributes_version)) {
    return refuse_block(block, wire::RefuseCode::unknown_stream,
                        stream == nullptr ? "unknown stream" : "unknown attribute version");
  }
  IngestOutcome outcome;
  for (TemplateId id : reader->header().stored_templates) {
    if (!conflicts_.contains(id)) continue;
    if (!outcome.refuse) {
      outcome = refuse_block(block, wire::RefuseCode::template_conflict,
                             "a fingerprint with another text is stored");
    }
    outcome.refuse->templates.push_back(id);
  }
  if (outcome.refuse) return outcome;
  LGR_TRY(auto missing, missing_templates(reader->header().stored_templates));
  if (!missing.empty()) {
    outcome = refuse_block(block, wire::RefuseCode::unknown_template,
                           std::to_string(missing.size()) + " unknown templates");
    outcome.refuse->templates = std::move(missing);
    return outcome;
  }
  if (admission.kind == Admission::Kind::cut) {
    return put_cut(block, *reader, *stream, admission.cut_at, admission.resume_at);
  }
  return put_new(block, *reader, *stream);
}

Result<IngestOutcome> Batch::put_new(const wire::Block& block, const BlockReader& reader,
                                     Shard::Stream& stream) {
  auto facts = facts_of(reader);
  if (!facts.ok()) return refuse_block(block, wire::RefuseCode::corrupt, facts.error().message());
  LGR_CHECK(shard_.put_block(token_, stream, reader.header(), block.bytes, *facts, now_));
  ++counts_.blocks;
  counts_.lines += reader.header().lines;
  counts_.bytes += reader.header().raw_bytes;
  return IngestOutcome{};
}

Result<IngestOutcome> Batch::put_cut(const wire::Block& block, const BlockReader& reader,
                                     Shard::Stream& stream, std::uint64_t cut_at,
                                     std::uint64_t resume_at) {
  LGR_TRY(auto texts, texts_of(reader.header().stored_templates));
  auto lookup = [&](TemplateId id) -> std::optional<std::string_view> {
    const auto at = texts.find(id);
    if (at == texts.end()) return std::nullopt;
    return at->second;
  };
  auto piece = cut_block(reader, cut_at, lookup, false);
  if (!piece.ok()) return refuse_block(block, wire::RefuseCode::corrupt, piece.error().message());
  bool conflict = false;
  for (const TemplateDef& definition : piece->templates) {
    LGR_TRY(auto put, shard_.put_template(token_, definition));
    conflict = conflict || put == Shard::PutTemplate::conflict;
  }
  if (conflict) {
    piece = cut_block(reader, cut_at, lookup, true);
    if (!piece.ok()) return refuse_block(block, wire::RefuseCode::corrupt, piece.error().message());
  }
  wire::Block cut;
  cut.stream = block.stream;
  cut.job = block.job;
  cut.first = block.first;
  cut.end = cut_at;
  cut.bytes = std::move(piece->bytes);
  auto cut_reader = BlockReader::open(cut.bytes);
  if (!cut_reader.ok()) return unreadable(block, cut_reader.error());
  LGR_TRY(IngestOutcome outcome, put_new(cut, *cut_reader, stream));
  if (outcome.refuse) {
    outcome.refuse->end = block.end;
    return outcome;
  }
  if (resume_at >= block.end) return IngestOutcome{};
  outcome = refuse_block(block, wire::RefuseCode::overlap, "stored up to a stored range");
  outcome.refuse->resume_at = resume_at;
  return outcome;
}

Result<Shard::Stream*> Batch::local_stream(const StreamId& id) {
  LGR_TRY(Shard::Stream * local, shard_.find_stream(token_, id));
  if (local != nullptr) return local;
  for (auto part = parts_.rbegin() + 1; part != parts_.rend(); ++part) {
    LGR_TRY(auto infos, (*part)->stream_infos(token_, id));
    if (infos.empty()) continue;
    for (const wire::StreamInfo& info : infos) LGR_CHECK(shard_.put_stream(token_, info));
    new_streams_.push_back(id);
    return shard_.find_stream(token_, id);
  }
  const auto kept = retained_.streams.find(id);
  if (kept == retained_.streams.end()) return static_cast<Shard::Stream*>(nullptr);
  for (const StreamAttributes& version : kept->second.versions) {
    wire::StreamInfo info;
    info.stream = id;
    info.attributes = version;
    info.head = kept->second.head;
    info.predecessor = kept->second.predecessor;
    LGR_CHECK(shard_.put_stream(token_, info));
  }
  if (!kept->second.versions.empty()) new_streams_.push_back(id);
  return shard_.find_stream(token_, id);
}

Result<std::vector<Range>> Batch::stored_ranges(const StreamId& id) {
  std::vector<Range> ranges;
  if (const auto kept = retained_.streams.find(id); kept != retained_.streams.end()) {
    ranges = kept->second.ranges;
  }
  for (const auto& part : parts_) {
    LGR_TRY(Shard::Stream * stream, part->find_stream(token_, id));
    if (stream == nullptr) continue;
    if (ranges.empty()) {
      ranges = stream->ranges;
    } else {
      for (const Range& range : stream->ranges) add_range(ranges, range);
    }
  }
  return ranges;
}

Result<std::vector<TemplateId>> Batch::missing_templates(const std::vector<TemplateId>& ids) {
  std::vector<TemplateId> missing;
  for (TemplateId id : ids) {
    LGR_TRY(bool known, shard_.knows_template(token_, id));
    for (auto part = parts_.rbegin() + 1; !known && part != parts_.rend(); ++part) {
      LGR_TRY(auto definition, (*part)->find_template(token_, id));
      if (!definition) continue;
      LGR_TRY(auto put, shard_.put_template(token_, *definition));
      known = put == Shard::PutTemplate::stored;
    }
    if (!known) missing.push_back(id);
  }
  return missing;
}

Result<std::unordered_map<TemplateId, std::string>> Batch::texts_of(
    const std::vector<TemplateId>& ids) {
  std::unordered_map<TemplateId, std::string> texts;
  for (TemplateId id : ids) {
    LGR_TRY(auto definition, shard_.find_template(token_, id));
    if (definition) texts.emplace(id, std::move(definition->text));
  }
  return texts;
}

}  // namespace logarithm::aggregator
