#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/kernel/kernel_record.h"
#include "agent/kernel/kernel_source.h"
#include "agent/ports/stream_log.h"
#include "common/base/clock.h"
#include "common/line/stream_parser.h"

namespace logarithm::agent {

struct KernelLogOptions {
  std::string tenant = "default";
  std::string host;
  std::string boot_id;  // empty: unknown, nothing is read
  std::size_t block_records = 4096;
  std::chrono::milliseconds block_age{50};
  std::chrono::seconds retry{10};  // after it could not be read
};

struct KernelLogStats {
  std::uint64_t records = 0, unreadable = 0, overwritten = 0;
};

// Records -> lines -> blocks -> StreamLog, for the kernel's log of this boot; see README.md. File
// thread only; collaborators outlive it.
class KernelLog {
 public:
  KernelLog(KernelLogOptions options, KernelSource& source, const RuleSet& rules, StreamLog& log,
            Clock& clock);
  ~KernelLog();

  // One bounded turn. Error{no_space}: the log is full, nothing is lost, call again later.
  Status step(BlockingToken& token);
  void set_rules(const RuleSet& rules);
  // Why nothing is captured, nullopt while all is.
  const std::optional<std::string>& problem() const { return problem_; }
  std::optional<wire::StreamLag> lag() const;
  const KernelLogStats& stats() const { return stats_; }
  const StreamId& stream() const { return checkpoint_.stream; }

  static constexpr const char* kJob = "_host";

 private:
  struct Start {
    std::uint64_t at = 0;  // in the parser's bytes
    std::uint64_t sequence = 0;
    UnixNanos time = 0;
    unsigned facility = 0;
    bool fragment = false;
    std::vector<std::pair<std::string, std::string>> facts;
  };
  Status begin(BlockingToken& token);
  void take(const KernelRecord& record);
  void collect();
  void finish_line(Line& line);
  const Start& start_of(std::uint64_t at) const;
  bool due() const;
  Status commit(BlockingToken& token);

  KernelLogOptions options_;
  KernelSource& source_;
  const RuleSet* rules_;
  StreamLog& log_;
  Clock& clock_;
  LongLinePool pool_;
  std::unique_ptr<StreamParser> parser_;
  StreamCheckpoint checkpoint_;
  BlockWriter block_;
  std::uint64_t next_ = 0;       // sequence number that comes next
  std::uint64_t last_head_ = 0;  // sequence of the last line that is no fragment
  std::deque<Start> starts_;     // of the newest records
  ParsedLines parsed_;
  std::optional<EncodedBlock> waiting_;  // found no room
  std::optional<MonotonicTime> first_at_;
  MonotonicTime retry_at_{};
  bool begun_ = false;
  std::optional<std::string> problem_;
  KernelLogStats stats_;
};

}  // namespace logarithm::agent
