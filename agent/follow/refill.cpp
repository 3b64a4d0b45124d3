#include "agent/follow/refill.h"

#include <algorithm>
#include <utility>

#include "agent/follow/resume.h"
#include "agent/follow/tailed_file.h"
#include "common/model/ranges.h"

namespace logarithm::agent {
Status Refill::Middle::append(BlockingToken& token, const StreamCheckpoint& at,
                              const EncodedBlock* block) {
  if (block == nullptr) return {};
  LGR_CHECK(log_.append(token, newest, block));
  done = at.position;
  return {};
}

Status Refill::Middle::append_gap(BlockingToken& token, const StreamCheckpoint& at,
                                  const Gap& gap) {
  LGR_CHECK(log_.append_gap(token, newest, gap));
  done = at.position;
  return {};
}

constexpr std::chrono::hours kNever{1};  // blocks are cut by size

Refill::Refill(const WriterParts& parts, StreamId stream, std::vector<Range> lost,
               std::vector<StreamAttributes> versions)
    : log_(parts.log),
      parts_{parts.rules, parts.pool,           log_,   stats_, parts.block_bytes, kNever,
             kNever,      MonotonicTime::max(), mapped_},
      stream_(stream),
      lost_(std::move(lost)),
      versions_(std::move(versions)) {}

// A piece ends where its range ends, or where the next attribute version begins.
Status Refill::begin_piece(BlockingToken& token, const Source& source, UnixNanos observed) {
  const Range range = lost_.front();
  StreamCheckpoint from;
  from.stream = stream_;
  from.attributes = versions_.empty() ? source.checkpoint.attributes : versions_.front();
  end_ = range.end;
  for (const StreamAttributes& version : versions_) {
    if (version.from <= range.first) {
      from.attributes = version;
    } else if (version.from < end_) {
      end_ = version.from;
      break;
    }
  }
  from.head = source.checkpoint.head;
  from.position = range.first;
  StreamContext context = source.context;
  context.process_rank = from.attributes.rank;
  context.rank_from_process =
      from.attributes.rank.has_value() && from.attributes.rank_source != "path";
  log_.done = range.first;
  LGR_TRY(writer_,
          resume_writer(token, parts_, source.file, std::move(from), std::move(context), observed));
  return {};
}

void Refill::feed(std::string_view chunk, UnixNanos observed, MonotonicTime now) {
  while (!chunk.empty()) {
    const std::size_t begin = std::min(chunk.find('\0'), chunk.size());
    const std::size_t end = std::min(chunk.find_first_not_of('\0', begin), chunk.size());
    const bool hole = end - begin >= kNulRun;
    writer_->feed(chunk.substr(0, hole ? begin : end), observed, now);
    if (hole) writer_->skip_nul(writer_->next_read() + (end - begin), observed, now);
    chunk.remove_prefix(end);
  }
}

Status Refill::append(BlockingToken& token) {
  const Status appended = writer_->commit(token);
  const std::uint64_t first = lost_.front().first;
  if (log_.done > first) lost_ = without(std::move(lost_), {{first, log_.done}});
  return appended;
}

Result<bool> Refill::step(BlockingToken& token, const Source& source, std::size_t max,
                          std::vector<char>& buffer, MonotonicTime now, UnixNanos wall) {
  log_.newest = source.checkpoint;
  if (writer_ && writer_->blocked()) LGR_CHECK(append(token));
  if (lost_.empty()) return true;
  LGR_TRY(const FileFacts facts, source.file.facts(token));
  // What a line without a time of its own gets: nobody knows better any more.
  const UnixNanos observed = std::min(facts.modified, wall);
  if (!writer_ || writer_->next_read() >= end_) {
    const Status begun = begin_piece(token, source, observed);
    if (!begun.ok() && begun.error().code() == ErrorCode::corrupt) return false;
    LGR_CHECK(begun);
  }
  const std::uint64_t offset = writer_->next_read();
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(max, end_ - offset));
  buffer.resize(std::max(buffer.size(), wanted));
  LGR_TRY(const std::size_t got, source.file.read_at(token, offset, buffer.data(), wanted));
  // After the read: what was read of a file that was cut meanwhile may be of another content.
  LGR_TRY(const FileFacts after, source.file.facts(token));
  LGR_TRY(const bool same, fits(token, source.file, after.size, source.checkpoint.head,
                                source.checkpoint.position, source.checkpoint.tail_crc));
  if (!same || got < wanted) return false;
  feed({buffer.data(), got}, observed, now);
  const bool last = writer_->next_read() >= end_;
  if (last && writer_->unfinished()) {
    writer_->flush(StreamParser::Flush::idle, observed, now);
    if (writer_->unfinished()) writer_->flush(StreamParser::Flush::closed, observed, now);
  }
  if (last || writer_->due(now)) LGR_CHECK(append(token));
  return !last || log_.done >= end_;
}

}  // namespace logarithm::agent
