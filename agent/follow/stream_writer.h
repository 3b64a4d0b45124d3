#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/follow/follow_stats.h"
#include "agent/follow/prefix_digest.h"
#include "agent/follow/source_state.h"
#include "agent/ports/mapped_process.h"
#include "agent/ports/stream_log.h"
#include "common/base/clock.h"
#include "common/block/block_writer.h"
#include "common/line/stream_parser.h"

namespace logarithm::agent {

// A block with fewer lines costs more than its lines.
inline constexpr std::uint64_t kSmallBlock = 32;

// What every StreamWriter of a follower shares; all outlive the writers.
struct WriterParts {
  const RuleSet* rules;  // never null; a reload puts another in its place
  LongLinePool& pool;
  BlockLog& log;
  FollowStats& stats;
  std::size_t block_bytes;             // raw bytes after which a block is cut
  std::chrono::nanoseconds block_age;  // or this long after the one before
  std::chrono::nanoseconds small_age;  // … when it has few lines
  MonotonicTime sweep_at;              // … or then, together with those of other streams
  std::vector<MappedProcess>& mapped;  // what new lines said of processes; bounded
};

// The head of a file that begins with `bytes`, its secrets masked (kHeadMask).
std::string masked_head(const RuleSet& rules, std::string bytes);

// One generation of one stream: bytes -> lines -> blocks -> log, with the running hash of the
// bytes. Blocks are contiguous: each begins where the last ended, and the checkpoint that goes with
// a block stands at its end. File thread only.
class StreamWriter {
 public:
  // Goes on at `from.position`; `digest` stands there too.
  static Result<std::unique_ptr<StreamWriter>> start(WriterParts& parts, StreamCheckpoint from,
                                                     PrefixDigest digest, StreamContext context);

  // Bytes at next_read(). `observed` is when they were seen, `now` the same on the monotonic clock.
  void feed(std::string_view bytes, UnixNanos observed, MonotonicTime now);
  // The bytes up to `offset` are a run of NULs that is left out.
  void skip_nul(std::uint64_t offset, UnixNanos observed, MonotonicTime now);
  void flush(StreamParser::Flush why, UnixNanos observed, MonotonicTime now);

  bool pending() const { return waiting_.has_value() || !block_.empty(); }
  // A block is full or old enough to be cut. blocked(): one is cut and found no room.
  bool due(MonotonicTime now) const;
  bool blocked() const { return waiting_.has_value(); }
  // When the pending lines are cut: a line after a quiet time at once, others with what comes
  // until then. nullopt: there are none.
  std::optional<MonotonicTime> due_at() const;
  // Lines since the last call.
  std::uint64_t take_lines() { return lines_ - std::exchange(taken_lines_, lines_); }

  // Cuts what is pending and appends it. Error{no_space}: it is kept, and the caller must not feed
  // until commit() succeeded. Without anything pending it does nothing.
  Status commit(BlockingToken& token);
  // commit(), then a checkpoint of its own: new facts, the end of the stream.
  Status commit_facts(BlockingToken& token);
  // commit(), then a gap that lies in no block.
  Status append_gap(BlockingToken& token, const Gap& gap);

  // The same version with other facts (paths learned, a rank found out). Takes effect with the
  // next append.
  void correct(const StreamAttributes& attributes) { checkpoint_.attributes = attributes; }
  // A new version from here on. Call after commit(); an unfinished line must have been flushed.
  void next_version(StreamAttributes attributes);
  void set_context(StreamContext context) { parser_->set_context(context); }
  // After the parts got other rules: lines that were not emitted yet are read with those.
  // The head, which is sent again, is masked by them too.
  void take_rules();
  void close(std::string reason, std::uint64_t size);

  const StreamId& stream() const { return checkpoint_.stream; }
  const StreamAttributes& attributes() const { return checkpoint_.attributes; }
  const std::string& head() const { return checkpoint_.head; }
  std::uint64_t next_read() const { return parser_->next_read(); }
  std::uint64_t position() const { return parser_->position(); }
  std::uint64_t spooled() const { return checkpoint_.position; }
  bool unfinished() const { return position() < next_read(); }
  // Of all bytes before next_read(); the ladder reaches back from there.
  const PrefixDigest& digest() const { return read_digest_; }
  const HashLadder& ladder() const { return ladder_; }
  double average_line() const {
    return lines_ == 0 ? 100.0 : static_cast<double>(bytes_) / static_cast<double>(lines_);
  }
  // Written into each checkpoint; the digest and rungs are filled in.
  SourceState& source() { return source_; }
  // The checkpoint of the last append (or the one that start() got).
  const StreamCheckpoint& checkpoint() const { return checkpoint_; }

 private:
  StreamWriter(WriterParts& parts, StreamCheckpoint from, PrefixDigest digest);
  struct Waiting {
    StreamCheckpoint checkpoint;
    EncodedBlock block;
  };
  void collect(ParsedLines& out, MonotonicTime now);
  void follow_position(std::string_view chunk, std::uint64_t chunk_offset);
  void at_line_end();
  void mask_head(const Gap& gap);
  StreamCheckpoint at_position() const;
  void took_effect(const StreamCheckpoint& appended);
  Status append_waiting(BlockingToken& token);

  WriterParts& parts_;
  StreamCheckpoint checkpoint_;
  SourceState source_;
  PrefixDigest read_digest_;      // at next_read()
  PrefixDigest position_digest_;  // at position()
  PrefixDigest anchor_digest_;    // at position(), or later when the unfinished line is long
  std::string unfinished_;        // the bytes from there to next_read(), at most 64 KiB
  HashLadder ladder_;
  std::unique_ptr<StreamParser> parser_;
  bool imported_ = false;
  BlockWriter block_;
  std::uint64_t block_first_ = 0;
  std::optional<MonotonicTime> first_line_at_, cut_at_;  // of this block, and of the one before
  MonotonicTime fed_at_{};
  std::optional<Waiting> waiting_;
  std::uint64_t bytes_ = 0, lines_ = 0;  // of this writer
  std::uint64_t taken_lines_ = 0;
};

}  // namespace logarithm::agent
