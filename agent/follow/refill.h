#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/follow/source_fs.h"
#include "agent/follow/stream_writer.h"

// What the aggregator had acknowledged and does not hold any more (its data directory was deleted,
// a shard was moved aside as damaged), made good from the source file.
namespace logarithm::agent {

// Reads lost ranges of one stream again and appends them with the stream's newest checkpoint, which
// stays as it is: the stream's own writer goes on meanwhile. File thread only.
class Refill {
 public:
  // `versions`: ascending, what is kept of them (none: the checkpoint's own). `closed`: the end
  // must be told again.
  Refill(const WriterParts& parts, StreamId stream, std::vector<Range> lost,
         std::vector<StreamAttributes> versions);

  struct Source {
    SourceFile& file;
    const StreamCheckpoint& checkpoint;  // the stream's newest, with which the file is confirmed
    StreamContext context;               // of the stream; a version's rank replaces the one here
  };
  // Reads at most `max` bytes. False: this file does not hold those bytes (any more). Errors are of
  // the log or the file, and calling again goes on.
  Result<bool> step(BlockingToken& token, const Source& source, std::size_t max,
                    std::vector<char>& buffer, MonotonicTime now, UnixNanos wall);

  void set_rules(const RuleSet& rules) {
    parts_.rules = &rules;
    if (writer_) writer_->take_rules();
  }
  const StreamId& stream() const { return stream_; }
  // What is still to be appended.
  std::vector<Range>& lost() { return lost_; }
  const FollowStats& stats() const { return stats_; }

  // --- the follower's notes
  std::uint64_t next_segment = 0;  // of the log, to look for the blocks themselves
  bool searched = false;           // … and nothing is left there
  std::unique_ptr<SourceFile> file;
  MonotonicTime retry_at{};

 private:
  // Appends the blocks of a writer that stands in the middle of the stream.
  class Middle final : public BlockLog {
   public:
    explicit Middle(BlockLog& log) : log_(log) {}
    Status append(BlockingToken& token, const StreamCheckpoint& at,
                  const EncodedBlock* block) override;
    Status append_gap(BlockingToken& token, const StreamCheckpoint& at, const Gap& gap) override;
    StreamCheckpoint newest;
    std::uint64_t done = 0;  // end of what was appended

   private:
    BlockLog& log_;
  };
  Status begin_piece(BlockingToken& token, const Source& source, UnixNanos observed);
  void feed(std::string_view chunk, UnixNanos observed, MonotonicTime now);
  Status append(BlockingToken& token);

  Middle log_;
  FollowStats stats_;
  std::vector<MappedProcess> mapped_;  // of lines that were told before: dropped
  WriterParts parts_;
  StreamId stream_;
  std::vector<Range> lost_;
  std::vector<StreamAttributes> versions_;
  std::unique_ptr<StreamWriter> writer_;  // of the piece being read
  std::uint64_t end_ = 0;                 // of that piece
};

// The comparison that a new session begins.
struct Audit {
  struct Stream {
    StreamId id;
    std::vector<Range> believed;  // acknowledged as of the question
    bool closed = false;
  };
  struct Question {
    StreamBase base;
    std::set<std::string> jobs;  // a stream may have served several
    std::vector<Stream> streams;
  };
  std::uint64_t session = 0;  // 0: none yet
  std::vector<StreamBase> todo;
  std::vector<Question> asked;
};

}  // namespace logarithm::agent
