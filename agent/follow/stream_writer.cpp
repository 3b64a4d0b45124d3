#include "agent/follow/stream_writer.h"

#include <algorithm>
#include <utility>

#include "common/base/logging.h"
#include "common/io/crc32c.h"
#include "common/rules/rule_set.h"

namespace logarithm::agent {
namespace {

constexpr std::size_t kKeepUnfinished = 64u << 10;
// Fed at once: the lines made of it, ten times as large, stay in the processor's cache until they
// are in the block.
constexpr std::size_t kSlice = 8u << 10;
constexpr std::size_t kStoredRungs = 8;
constexpr std::size_t kMaxMapped = 10'000;  // between two turns

// Empty between two calls: one for all streams, for its memory is what counts.
ParsedLines& scratch() {
  thread_local ParsedLines parsed;
  return parsed;
}

}  // namespace

std::string masked_head(const RuleSet& rules, std::string bytes) {
  std::vector<RuleSet::Secret> secrets;
  rules.find_secrets(bytes, secrets);
  for (const RuleSet::Secret& secret : secrets) {
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(secret.begin), secret.length,
                kHeadMask);
  }
  if (bytes.size() > kHeadBytes) bytes.resize(kHeadBytes);
  return bytes;
}

StreamWriter::StreamWriter(WriterParts& parts, StreamCheckpoint from, PrefixDigest digest)
    : parts_(parts),
      checkpoint_(std::move(from)),
      source_(parse_source_state(checkpoint_.source)),
      read_digest_(std::move(digest)),
      position_digest_(read_digest_),
      anchor_digest_(read_digest_),
      block_(checkpoint_.stream, checkpoint_.attributes.version),
      block_first_(checkpoint_.position) {
  ladder_.restore(std::exchange(source_.rungs, {}));
  source_.closed_at = 0;
  checkpoint_.closed = false;
  checkpoint_.close_reason.clear();
  checkpoint_.close_size = 0;
}

Result<std::unique_ptr<StreamWriter>> StreamWriter::start(WriterParts& parts, StreamCheckpoint from,
                                                          PrefixDigest digest,
                                                          StreamContext context) {
  const bool imported = context.imported;
  LGR_TRY(auto parser, StreamParser::make(std::move(context), *parts.rules, parts.pool,
                                          from.position, from.parser_state));
  std::unique_ptr<StreamWriter> writer(new StreamWriter(parts, std::move(from), std::move(digest)));
  writer->parser_ = std::move(parser);
  writer->imported_ = imported;
  return writer;
}

void StreamWriter::feed(std::string_view bytes, UnixNanos observed, MonotonicTime now) {
  LGR_ASSERT(!waiting_);
  if (bytes.empty()) return;
  const std::uint64_t offset = next_read();
  if (checkpoint_.head.size() < kHeadBytes && checkpoint_.head.size() == offset) {
    checkpoint_.head.append(bytes.substr(0, kHeadBytes - checkpoint_.head.size()));
  }
  ParsedLines& parsed = scratch();
  // Lines of an import that come before its first time get that one, within one feed.
  const std::size_t slice = imported_ ? bytes.size() : kSlice;
  for (std::size_t at = 0; at < bytes.size(); at += slice) {
    parser_->feed(bytes.substr(at, slice), observed, parsed);
    collect(parsed, now);
  }
  follow_position(bytes, offset);
  parts_.stats.bytes += bytes.size();
  bytes_ += bytes.size();
}

// The digest at position() is what a checkpoint needs, and position() nearly always lies in the
// bytes just fed. Otherwise a line is longer than one read (nothing to do until it ends), or it
// moved within the few bytes that are kept for that.
void StreamWriter::follow_position(std::string_view chunk, std::uint64_t chunk_offset) {
  const std::uint64_t position = parser_->position();
  if (position >= chunk_offset) {
    const auto ended = static_cast<std::size_t>(position - chunk_offset);
    add_with_rungs(read_digest_, ladder_, chunk.substr(0, ended));
    position_digest_ = anchor_digest_ = read_digest_;
    add_with_rungs(read_digest_, ladder_, chunk.substr(ended));
    unfinished_.assign(chunk.substr(ended));
  } else {
    add_with_rungs(read_digest_, ladder_, chunk);
    unfinished_.append(chunk);
    if (position > position_digest_.offset()) {
      // Back beyond the kept bytes no parser goes; if one did, only the hash would be given up.
      const std::uint64_t anchor = std::min(position, anchor_digest_.offset());
      const auto moved = static_cast<std::size_t>(position - anchor);
      anchor_digest_.add(std::string_view(unfinished_).substr(0, moved));
      unfinished_.erase(0, moved);
      position_digest_ = anchor_digest_;
    }
  }
  if (unfinished_.size() > kKeepUnfinished) {
    const std::size_t excess = unfinished_.size() - kKeepUnfinished;
    anchor_digest_.add(std::string_view(unfinished_).substr(0, excess));
    unfinished_.erase(0, excess);
  }
}

void StreamWriter::skip_nul(std::uint64_t offset, UnixNanos observed, MonotonicTime now) {
  LGR_ASSERT(!waiting_);
  const std::uint64_t from = next_read();
  if (offset <= from) return;
  ParsedLines& parsed = scratch();
  parser_->skip_to(offset, "nul_hole", observed, parsed);
  parts_.stats.nul_bytes += offset - from;
  if (checkpoint_.head.size() < kHeadBytes && checkpoint_.head.size() == from) {
    checkpoint_.head.append(std::min<std::uint64_t>(offset - from, kHeadBytes - from), '\0');
  }
  read_digest_.add_zeros(offset - from);
  at_line_end();
  collect(parsed, now);
}

void StreamWriter::flush(StreamParser::Flush why, UnixNanos observed, MonotonicTime now) {
  LGR_ASSERT(!waiting_);
  ParsedLines& parsed = scratch();
  parser_->flush(why, observed, parsed);
  if (!unfinished()) at_line_end();
  collect(parsed, now);
}

void StreamWriter::at_line_end() {
  position_digest_ = anchor_digest_ = read_digest_;
  unfinished_.clear();
}

void StreamWriter::collect(ParsedLines& out, MonotonicTime now) {
  if (out.lines.empty() && out.gaps.empty()) return;
  for (const Gap& gap : out.gaps) mask_head(gap);
  for (ParsedLines::Mapped& mapped : out.mappings) {
    if (parts_.mapped.size() >= kMaxMapped) break;
    parts_.mapped.push_back(
        {std::move(mapped.mapping), checkpoint_.attributes.process, checkpoint_.attributes.job});
  }
  fed_at_ = now;
  if (block_.empty()) {
    block_.set_first(block_first_);
    first_line_at_ = now;
  }
  auto gap = out.gaps.begin();
  for (const Line& line : out.lines) {
    for (; gap != out.gaps.end() && gap->from < line.offset; ++gap) block_.add_gap(*gap);
    block_.add(line);
  }
  for (; gap != out.gaps.end(); ++gap) block_.add_gap(*gap);
  parts_.stats.lines += out.lines.size();
  lines_ += out.lines.size();
  parts_.stats.gaps += out.gaps.size();
  out.recycle();
}

// What was redacted is not in the head either: kHeadMask fits any byte of the file.
void StreamWriter::mask_head(const Gap& gap) {
  if (gap.reason != "redacted" || !gap.to) return;
  std::string& head = checkpoint_.head;
  for (std::uint64_t i = gap.from; i < std::min<std::uint64_t>(*gap.to, head.size()); ++i) {
    head[static_cast<std::size_t>(i)] = kHeadMask;
  }
}

void StreamWriter::take_rules() {
  parser_->set_rules(*parts_.rules);
  if (parts_.rules->redacts()) {
    checkpoint_.head = masked_head(*parts_.rules, std::move(checkpoint_.head));
  }
}

bool StreamWriter::due(MonotonicTime now) const {
  if (waiting_) return true;
  if (block_.empty()) return false;
  const auto at = due_at();
  return block_.raw_bytes() >= parts_.block_bytes || block_.lines() >= (1u << 18) ||
         (at && now >= *at);
}

std::optional<MonotonicTime> StreamWriter::due_at() const {
  if (!first_line_at_ || !cut_at_) return first_line_at_;
  if (block_.lines() >= kSmallBlock) return std::max(*first_line_at_, *cut_at_ + parts_.block_age);
  return std::max(*first_line_at_, std::min(*cut_at_ + parts_.small_age, parts_.sweep_at));
}

StreamCheckpoint StreamWriter::at_position() const {
  StreamCheckpoint out = checkpoint_;
  out.position = parser_->position();
  // An unfinished line was not looked at for secrets yet.
  if (parts_.rules->redacts() && out.head.size() > out.position) {
    out.head.resize(static_cast<std::size_t>(out.position));
  }
  // A writer without its file (see resume_writer_blind) knows the old CRC only.
  const std::size_t tail = std::min<std::uint64_t>(out.position, kTailBytes);
  if (position_digest_.tail().size() == tail) out.tail_crc = position_digest_.tail_crc();
  out.parser_state = parser_->state();
  SourceState source = source_;
  source.digest = position_digest_.to_text();
  source.rungs = ladder_.newest(kStoredRungs);
  out.source = to_json_text(source);
  return out;
}

Status StreamWriter::commit(BlockingToken& token) {
  LGR_CHECK(append_waiting(token));
  if (block_.empty()) return {};
  StreamCheckpoint next = at_position();
  block_.set_end(next.position);
  const std::uint64_t first = std::exchange(block_first_, next.position);
  first_line_at_.reset();
  cut_at_ = fed_at_;
  Result<EncodedBlock> encoded = block_.finish(next.tail_crc);
  if (!encoded.ok()) {
    ++parts_.stats.encode_errors;
    LGR_ERROR("block lost stream={} first={} end={}: {}", to_text(next.stream), first,
              next.position, encoded.error().message());
    block_ = BlockWriter(next.stream, next.attributes.version);
    Gap gap{first, next.position, "encode_failed", source_.seen};
    ++parts_.stats.gaps;
    LGR_CHECK(parts_.log.append_gap(token, next, gap));
    took_effect(next);
    return {};
  }
  waiting_.emplace(Waiting{std::move(next), std::move(*encoded)});
  return append_waiting(token);
}

Status StreamWriter::append_waiting(BlockingToken& token) {
  if (!waiting_) return {};
  Status status = parts_.log.append(token, waiting_->checkpoint, &waiting_->block);
  if (!status.ok()) return status;
  ++parts_.stats.blocks;
  took_effect(waiting_->checkpoint);
  waiting_.reset();
  return {};
}

// Attributes and head may have gone on while a block waited for room: they stay.
void StreamWriter::took_effect(const StreamCheckpoint& appended) {
  checkpoint_.position = appended.position;
  checkpoint_.tail_crc = appended.tail_crc;
  checkpoint_.parser_state = appended.parser_state;
  checkpoint_.source = appended.source;
}

Status StreamWriter::commit_facts(BlockingToken& token) {
  LGR_CHECK(commit(token));
  StreamCheckpoint next = at_position();
  LGR_CHECK(parts_.log.append(token, next, nullptr));
  took_effect(next);
  return {};
}

Status StreamWriter::append_gap(BlockingToken& token, const Gap& gap) {
  LGR_CHECK(commit(token));
  StreamCheckpoint next = at_position();
  LGR_CHECK(parts_.log.append_gap(token, next, gap));
  ++parts_.stats.gaps;
  took_effect(next);
  return {};
}

void StreamWriter::next_version(StreamAttributes attributes) {
  LGR_ASSERT(!pending());
  attributes.version = checkpoint_.attributes.version + 1;
  attributes.from = parser_->position();
  checkpoint_.attributes = std::move(attributes);
  block_ = BlockWriter(checkpoint_.stream, checkpoint_.attributes.version);
}

void StreamWriter::close(std::string reason, std::uint64_t size) {
  checkpoint_.closed = true;
  checkpoint_.close_reason = std::move(reason);
  checkpoint_.close_size = size;
  source_.closed_at = source_.seen;
}

}  // namespace logarithm::agent
