#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/discover/discovery.h"
#include "agent/follow/follower.h"
#include "agent/kernel/kernel_log.h"
#include "agent/spool/spool.h"
#include "agent/uplink/uplink.h"
#include "common/base/logging.h"

namespace logarithm::agent {

// What other threads may know of the collector.
struct CollectorStats {
  std::atomic<std::uint64_t> lines{0}, bytes{0}, lag_bytes{0}, streams{0}, waiting{0};
  std::atomic<std::uint64_t> gaps{0}, abandoned{0}, encode_errors{0}, paused{0}, scans{0};
  std::atomic<std::uint64_t> write_retries{0};  // turns that the spool refused, no_space excepted
  std::atomic<std::uint64_t> targets{0}, not_captured{0};  // files to follow, and what is none
  std::atomic<std::uint64_t> kernel_records{0}, kernel_overwritten{0};
  std::atomic<std::uint64_t> store_lost_bytes{0}, refilled_bytes{0};
  std::atomic<std::uint64_t> rule_problems{0};  // of the rules in force: what disabled some
};

struct TurnReport {
  bool more = false;      // call again at once
  bool finished = false;  // `once` only: everything was read to its end
  std::chrono::milliseconds wait{0};
};

// What a reload may change at run time.
struct Reconfiguration {
  std::shared_ptr<const RuleSet> rules;
  std::vector<std::string> rule_problems;  // see Collector::set_rule_problems()
  bool processes = true, kernel_log = true;
  std::chrono::nanoseconds poll{0};
  std::vector<FilePattern> files;
  std::uint64_t spool_max_bytes = 0, spool_segment_bytes = 0, spool_min_free = 0;
};

// One turn of everything that happens on the file thread: discovery when something changed,
// following, the spool's upkeep. File thread only, but for stats().
class Collector final : public HeartbeatSource {
 public:
  Collector(Discovery& discovery, Follower& follower, Spool& spool, Clock& clock,
            std::chrono::nanoseconds discover_poll);

  // Reads the kernel's log too, while `enabled`; it outlives the collector. Before the first turn.
  void set_kernel_log(KernelLog& kernel, bool enabled) {
    kernel_ = &kernel;
    kernel_enabled_ = enabled;
  }
  TurnReport turn(BlockingToken& token);
  // One last read of everything, then nothing more.
  Status drain(BlockingToken& token);
  wire::Heartbeat heartbeat(BlockingToken&) override;
  // Takes effect between two turns; after an Error nothing has changed.
  Status reconfigure(BlockingToken& token, const Reconfiguration& change);
  void set_config_problems(std::vector<std::string> problems) {
    config_problems_ = std::move(problems);
  }
  const std::vector<wire::NotCaptured>& not_captured() const { return not_captured_; }
  const CollectorStats& stats() const { return stats_; }
  // Why rules are disabled, for the heartbeats: they travel with each, so at most kMostRuleProblems
  // of them, and how many more there are. Between two turns.
  static constexpr std::size_t kMostRuleProblems = 50;
  void set_rule_problems(std::vector<std::string> problems);

 private:
  void discover(BlockingToken& token);
  Status keep_processes(BlockingToken& token);
  void read_files(BlockingToken& token, TurnReport& report);
  void publish();
  bool reads_kernel() const { return kernel_ != nullptr && kernel_enabled_; }

  Discovery& discovery_;
  Follower& follower_;
  Spool& spool_;
  KernelLog* kernel_ = nullptr;
  bool kernel_enabled_ = false;
  Clock& clock_;
  std::chrono::nanoseconds discover_poll_;
  MonotonicTime next_discover_{};
  std::vector<wire::NotCaptured> not_captured_;
  std::vector<std::string> rule_problems_, config_problems_;
  std::shared_ptr<const RuleSet> rules_;                  // of the last reload: the follower's
  std::map<std::string, ProcessInfo> pending_processes_;  // the spool was full
  bool scanned_ = false;
  RateLimit scan_errors_, step_errors_, process_errors_;
  // While the spool cannot be written (its directory is gone, the disk is broken) nothing is tried
  // before this: the files keep the bytes.
  MonotonicTime retry_at_{};
  std::chrono::nanoseconds retry_delay_{0};
  CollectorStats stats_;
};

}  // namespace logarithm::agent
