#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/kernel/kernel_refill.h"
#include "agent/kernel/kernel_source.h"
#include "common/base/clock.h"

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
            StreamOracle& oracle, Clock& clock);
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
  Status begin(BlockingToken& token);
  Status read_some(BlockingToken& token);
  Status take(BlockingToken& token, const KernelRecord& record);
  bool due() const;
  Status commit(BlockingToken& token);

  KernelLogOptions options_;
  KernelSource& source_;
  const RuleSet* rules_;
  StreamLog& log_;
  Clock& clock_;
  StreamCheckpoint checkpoint_;
  std::unique_ptr<KernelBlocks> blocks_;
  KernelRefill refill_;
  std::optional<EncodedBlock> waiting_;  // found no room
  std::optional<MonotonicTime> first_at_;
  MonotonicTime retry_at_{};
  std::optional<std::string> problem_;
  KernelLogStats stats_;
};

}  // namespace logarithm::agent
