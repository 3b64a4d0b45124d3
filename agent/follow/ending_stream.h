#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/follow/copy_check.h"
#include "agent/follow/stream_writer.h"

namespace logarithm::agent {

// What was known about a generation when its end was noticed.
struct EndingFacts {
  std::string reason;            // "truncated" or "replaced"
  std::uint64_t known_size = 0;  // the largest size that was seen
  UnixNanos seen = 0;            // wall time of the last look that found it whole
  UnixNanos noticed = 0;         // … and of the first that did not
  double rate = 0;               // bytes a second that it grew by, 0 when it was quiet
  bool watched = true;           // false: the agent was not there when it happened
  std::uint64_t new_size = 0;    // of the new content at `noticed`
  UnixNanos new_modified = 0;
  // Lines that were written between our last read and the end, where they were counted.
  std::optional<std::uint64_t> lost_lines;
};

// Where the data begins in a file that starts with NULs, 0 when it does not; nullopt while there is
// none. A writer that does not append goes on at its old offset after a truncation: that is where
// the old content really ended.
std::optional<std::uint64_t> data_start(BlockingToken& token, SourceFile& file, std::uint64_t size);

// True when bytes may well have been written between `from` and the truncation: at least a
// twentieth of a line is to be expected there.
bool probably_lost(const EndingFacts& facts, UnixNanos from, double average_line);

// A generation that was truncated or replaced under us: looks for a copytruncate copy among the
// candidates, reads the rest from it, then flushes, records the gap and closes. One turn is
// bounded. File thread only.
class EndingStream {
 public:
  EndingStream(WriterParts& parts, std::unique_ptr<StreamWriter> writer, StreamContext context,
               EndingFacts facts, std::vector<CopyCheck> candidates);

  // Reads at most `max` bytes; true when the end is in the log. Error{no_space}: try again later.
  // False without waits(): call again at once.
  Result<bool> step(BlockingToken& token, std::size_t max, std::vector<char>& buffer,
                    MonotonicTime now, UnixNanos wall);

  // Only the next generation's first bytes can tell whether something is missing: data_began() when
  // there are some, or give_up_waiting().
  bool waits() const { return waits_until_.has_value() && !waited_; }
  MonotonicTime waits_until() const { return *waits_until_; }
  void data_began(std::uint64_t start);
  void give_up_waiting() { waited_ = true; }

  const StreamId& stream() const { return writer_->stream(); }
  const StreamWriter& writer() const { return *writer_; }
  void take_rules() { writer_->take_rules(); }
  // The copy, once one is recognised (at most one).
  const std::optional<StreamBase>& copy() const { return copy_base_; }

 private:
  Result<bool> search(BlockingToken& token, std::size_t max, std::vector<char>& buffer,
                      UnixNanos wall);
  Result<bool> drain_copy(BlockingToken& token, std::size_t max, std::vector<char>& buffer,
                          MonotonicTime now, UnixNanos wall);
  Status finish(BlockingToken& token, MonotonicTime now, UnixNanos wall);
  std::optional<Gap> missing(UnixNanos wall) const;
  std::uint64_t known_size() const;
  bool is_known() const;  // whether something is missing, beyond doubt

  WriterParts& parts_;
  std::unique_ptr<StreamWriter> writer_;
  StreamContext context_;
  EndingFacts facts_;
  std::vector<CopyCheck> candidates_;
  std::optional<CopyCheck> copy_;
  std::optional<StreamBase> copy_base_;
  bool flushed_ = false, gap_done_ = false, waited_ = false;
  std::optional<MonotonicTime> waits_until_;
  std::optional<std::uint64_t> true_end_;  // told by data_began()
  std::uint64_t copied_lines_ = 0;
};

}  // namespace logarithm::agent
