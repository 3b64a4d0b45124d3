#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/follow/growth_rate.h"
#include "agent/follow/source_fs.h"
#include "agent/follow/stream_writer.h"

namespace logarithm::agent {

// A run of NULs from this length on is a hole, and no text.
inline constexpr std::size_t kNulRun = 512;

// What a look at a followed file found.
enum class FileChange {
  none,
  shrank,     // smaller than what was read: truncated or replaced
  rewritten,  // long enough, but the bytes before our position are others
  lost,       // the handle is dead (ESTALE, EIO): closed, reopened after a back-off
};

// One open file: looks at it, reads it, notices when it is no longer what it was. Identity and
// generations are the follower's business. Level-triggered: each look compares states, so a missed
// event costs time and never bytes. File thread only.
class TailedFile {
 public:
  TailedFile(std::string open_path, std::unique_ptr<SourceFile> file, FileFacts facts);

  // fstat. `read` is how far it was read. The size is believed to be this generation's.
  FileChange look(BlockingToken& token, std::uint64_t read, MonotonicTime now, UnixNanos wall);

  struct Outcome {
    std::uint64_t bytes = 0;  // consumed, NULs left out included
    FileChange change = FileChange::none;
    bool at_end = false;      // nothing more to read as of this call
    std::uint64_t lines = 0;  // newlines in them, when they are counted
    bool line_end = false;    // … and the last byte is one
  };
  void count_lines(bool wanted) { count_lines_ = wanted; }
  // Its modification time is of this host's clock: lines are observed then, not when we look.
  void trust_times(bool wanted) { trust_times_ = wanted; }
  // Reads up to `max` bytes into `writer`. Compares the bytes before the position with what was
  // read there earlier, in the same read. Runs of NULs (512 and more, or at the start of a
  // truncated file) are left out as soon as something follows them.
  Outcome read(BlockingToken& token, StreamWriter& writer, std::size_t max,
               std::vector<char>& buffer, UnixNanos observed, MonotonicTime now, UnixNanos wall);

  // Nobody wrote until shortly before `wall`, and all that was there is read.
  void was_quiet(UnixNanos wall) { seen_wall_ = std::max(seen_wall_, wall - 200'000); }
  // A new generation begins: forget sizes of the old one.
  void begin_generation(MonotonicTime now);
  // Gives the descriptor back; open() gets it again.
  void close() { file_.reset(); }
  bool is_open() const { return file_ != nullptr; }
  // Opens `path` again after a lost handle or close(). Error{conflict} when another file lies
  // there.
  Status reopen(BlockingToken& token, SourceFs& fs, const std::string& path);
  bool may_reopen(MonotonicTime now) const { return now >= retry_at_; }
  void postpone(MonotonicTime now);

  SourceFile& file() { return *file_; }
  const FileFacts& facts() const { return facts_; }
  void set_facts(const FileFacts& facts) { facts_ = facts; }
  const std::string& open_path() const { return open_path_; }
  MonotonicTime grown_at() const { return grown_at_; }  // last look that found more bytes
  MonotonicTime seen_at() const { return seen_at_; }    // last look that found no shrinking
  UnixNanos seen_wall() const { return seen_wall_; }
  std::uint64_t known_size() const { return known_size_; }  // of this generation, at that look
  double rate(MonotonicTime now) const { return rate_.bytes_per_second(now); }
  // Where a trailing run of NULs that nothing follows yet begins to end; 0 when there is none.
  std::uint64_t nul_tail_end() const { return nul_scan_; }

 private:
  FileChange fail(const Error& error, MonotonicTime now);
  UnixNanos written_at(UnixNanos observed, UnixNanos wall) const;
  void accept(const FileFacts& facts, MonotonicTime now, UnixNanos wall);
  Outcome scan_nuls(BlockingToken& token, StreamWriter& writer, std::size_t max,
                    std::vector<char>& buffer, UnixNanos observed, MonotonicTime now);
  void consume(StreamWriter& writer, std::string_view chunk, bool to_end, UnixNanos observed,
               MonotonicTime now);

  std::string open_path_;
  std::unique_ptr<SourceFile> file_;
  FileFacts facts_;
  std::uint64_t known_size_ = 0;
  MonotonicTime grown_at_, seen_at_;
  UnixNanos seen_wall_ = 0;
  GrowthRate rate_;
  bool count_lines_ = false, trust_times_ = false;
  std::uint64_t nul_scan_ = 0;  // bytes from the position to here are NULs, kept back
  UnixNanos nul_modified_ = 0;
  MonotonicTime retry_at_;
  std::chrono::seconds backoff_{0};
};

}  // namespace logarithm::agent
