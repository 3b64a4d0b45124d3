#include "agent/collector.h"

#include <algorithm>

namespace logarithm::agent {
namespace {

// How long a turn may be put off: short, since it is what looks for new bytes.
constexpr std::chrono::milliseconds kTurn{50};
// Newest facts of so many processes wait for room in the spool.
constexpr std::size_t kMaxPending = 100'000;
constexpr std::chrono::milliseconds kFirstRetry{100};
constexpr std::chrono::seconds kLastRetry{5};

}  // namespace

Collector::Collector(Discovery& discovery, Follower& follower, Spool& spool, Clock& clock,
                     std::chrono::nanoseconds discover_poll)
    : discovery_(discovery),
      follower_(follower),
      spool_(spool),
      clock_(clock),
      discover_poll_(discover_poll) {}

void Collector::discover(BlockingToken& token) {
  const MonotonicTime now = clock_.now();
  if (now < next_discover_) return;
  next_discover_ = now + discover_poll_;
  const UnixNanos wall = clock_.wall_now();
  const bool again = follower_.take_store_lost();
  if (again) discovery_.tell_again();
  if (scanned_ && !again && !follower_.wants_scan() && !discovery_.changed_hint(token, wall))
    return;
  auto found = discovery_.scan(token, wall);
  ++stats_.scans;
  std::uint64_t suppressed = 0;
  if (!found.ok()) {
    if (scan_errors_.allow(now, suppressed)) {
      LGR_WARN("scan failed error={} suppressed={}", found.error().to_string(), suppressed);
    }
    return;
  }
  scanned_ = true;
  stats_.targets = found->targets.size();
  follower_.set_targets(std::move(found->targets));
  not_captured_ = std::move(found->not_captured);
  for (ProcessInfo& process : found->processes) {
    if (process.exit) follower_.process_exited(process.key());
    if (pending_processes_.size() >= kMaxPending) {
      pending_processes_.erase(pending_processes_.begin());
    }
    pending_processes_.insert_or_assign(process.key(), std::move(process));
  }
}

Status Collector::keep_processes(BlockingToken& token) {
  if (pending_processes_.empty()) return {};
  std::vector<ProcessInfo> processes;
  for (const auto& [key, process] : pending_processes_) processes.push_back(process);
  const Status kept = spool_.append_processes(token, processes);
  if (kept.ok()) {
    pending_processes_.clear();
    return {};
  }
  std::uint64_t suppressed = 0;
  if (process_errors_.allow(clock_.now(), suppressed)) {
    LGR_WARN("process facts wait error={} suppressed={}", kept.error().to_string(), suppressed);
  }
  return kept;
}

// One attempt at what has to go into the spool. After a failure the next is put off, ever longer.
void Collector::read_files(BlockingToken& token, TurnReport& report) {
  const MonotonicTime now = clock_.now();
  if (now < retry_at_) return;
  Status done = keep_processes(token);
  if (const auto step = follower_.step(token); step.ok()) {
    report.more = step->more;
    report.wait = std::min(step->wait, kTurn);
  } else {
    done = step.error();
    std::uint64_t suppressed = 0;
    if (step_errors_.allow(now, suppressed)) {
      LGR_WARN("reading waits error={} suppressed={}", step.error().to_string(), suppressed);
    }
  }
  if (reads_kernel()) {
    if (const Status read = kernel_->step(token); !read.ok()) done = read;
  }
  if (done.ok()) {
    retry_delay_ = std::chrono::nanoseconds(0);
    return;
  }
  if (done.error().code() == ErrorCode::no_space) {
    retry_delay_ = kFirstRetry;  // a state that every ack may end
  } else {
    ++stats_.write_retries;
    retry_delay_ = std::clamp<std::chrono::nanoseconds>(retry_delay_ * 2, kFirstRetry, kLastRetry);
  }
  retry_at_ = now + retry_delay_;
  report.more = false;
}

void Collector::set_rule_problems(std::vector<std::string> problems) {
  stats_.rule_problems = problems.size();
  if (problems.size() > kMostRuleProblems) {
    const std::size_t more = problems.size() - kMostRuleProblems;
    problems.resize(kMostRuleProblems);
    problems.push_back("… and " + std::to_string(more) + " more: --check-config names them all");
  }
  rule_problems_ = std::move(problems);
}

Status Collector::reconfigure(BlockingToken&, const Reconfiguration& change) {
  LGR_CHECK(discovery_.reconfigure(change.processes, change.files));
  follower_.set_rules(*change.rules);
  if (kernel_ != nullptr) kernel_->set_rules(*change.rules);
  kernel_enabled_ = change.kernel_log;
  rules_ = change.rules;  // the former ones have no reader any more
  set_rule_problems(change.rule_problems);
  spool_.set_limits(change.spool_max_bytes, change.spool_segment_bytes, change.spool_min_free);
  discover_poll_ = change.poll;
  next_discover_ = {};
  retry_at_ = {};  // there may be room now
  return {};
}

TurnReport Collector::turn(BlockingToken& token) {
  discover(token);
  TurnReport report;
  report.wait = kTurn;
  read_files(token, report);
  const UnixNanos at = clock_.wall_now();
  for (const MappedProcess& mapped : follower_.take_mapped()) discovery_.map_process(mapped, at);
  spool_.tick(token);
  report.finished = scanned_ && pending_processes_.empty() && follower_.finished();
  publish();
  return report;
}

Status Collector::drain(BlockingToken& token) {
  next_discover_ = {};
  discover(token);
  static_cast<void>(keep_processes(token));  // said in the log, and the drain will say it again
  const Status drained = follower_.drain(token);
  const Status closed = spool_.close(token);
  publish();
  return drained.ok() ? closed : drained;
}

void Collector::publish() {
  const FollowStats& follow = follower_.stats();
  stats_.lines = follow.lines;
  stats_.bytes = follow.bytes;
  stats_.gaps = follow.gaps;
  stats_.abandoned = follow.abandoned;
  stats_.encode_errors = follow.encode_errors;
  stats_.paused = follow.no_space;
  stats_.store_lost_bytes = follow.store_lost_bytes;
  stats_.refilled_bytes = follow.refilled_bytes;
  if (kernel_ != nullptr) {
    stats_.kernel_records = kernel_->stats().records;
    stats_.kernel_overwritten = kernel_->stats().overwritten;
  }
  stats_.waiting = follower_.waiting();
  stats_.not_captured = not_captured_.size();
}

wire::Heartbeat Collector::heartbeat(BlockingToken&) {
  wire::Heartbeat beat;
  beat.streams = follower_.lag();
  beat.not_captured = not_captured_;
  if (reads_kernel()) {
    if (auto lag = kernel_->lag()) beat.streams.push_back(std::move(*lag));
    if (kernel_->problem()) {
      wire::NotCaptured missing;
      missing.what = "kernel log";
      missing.reason = *kernel_->problem();
      missing.job = KernelLog::kJob;
      beat.not_captured.push_back(std::move(missing));
    }
  }
  beat.rule_problems = rule_problems_;
  beat.config_problems = config_problems_;
  beat.spool_bytes = spool_.stats().bytes;
  std::uint64_t lag = 0;
  for (const wire::StreamLag& stream : beat.streams) {
    if (stream.size > stream.offset) lag += stream.size - stream.offset;
  }
  stats_.lag_bytes = lag;
  stats_.streams = beat.streams.size();
  return beat;
}

}  // namespace logarithm::agent
