#include "agent/discover/process_table.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>

#include "agent/discover/command_line.h"
#include "agent/discover/container.h"
#include "agent/discover/run_status.h"
#include "agent/discover/time_zone.h"
#include "agent/discover/users.h"
#include "common/model/run_environment.h"

namespace logarithm::agent {
namespace {

constexpr std::size_t kMaxEnvironment = 2u << 20;  // the kernel's own default limit for exec
constexpr std::size_t kMaxCommandLine = 16u << 10;
constexpr std::int32_t kKernelThreads = 2;  // their common parent

bool is_gone(char state) { return state == 'Z' || state == 'X' || state == 'x'; }

// Ever more rarely with age.
UnixNanos recheck_after(UnixNanos age) {
  return std::clamp(age / 2, ProcessTable::kMinRecheck, ProcessTable::kMaxRecheck);
}

std::string fallback_job(const std::string& host, std::int32_t pid, UnixNanos start) {
  return host + "-" + std::to_string(pid) + "-" + std::to_string(start / 1'000'000'000);
}

}  // namespace

ProcessTable::ProcessTable(const ProcFs& fs, std::string host, std::int32_t self)
    : fs_(fs), host_(std::move(host)), self_(self) {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  tick_ = 1'000'000'000 / (ticks > 0 ? ticks : 100);
}

UnixNanos grid_time(UnixNanos now, UnixNanos interval) {
  const auto grid =
      static_cast<UnixNanos>(std::bit_floor(static_cast<std::uint64_t>(interval / 4)));
  return (now + interval) / grid * grid;
}

UnixNanos ProcessTable::start_of(const Seen& seen) const {
  return boot_->at + static_cast<UnixNanos>(seen.stat.start_ticks) * tick_;
}

std::string ProcessTable::key_of(const Seen& seen) const {
  ProcessInfo info;
  info.host = host_;
  info.pid = seen.stat.pid;
  info.start = start_of(seen);
  return info.key();
}

const ProcessTable::Seen* ProcessTable::find(std::int32_t pid) const {
  const auto at = seen_.find(pid);
  return at == seen_.end() ? nullptr : &at->second;
}

// A pid that we know may belong to another process by now if the system's counter passed over it.
bool ProcessTable::may_be_reused(std::int32_t pid, std::int32_t newest) const {
  if (!newest_ || *newest_ == newest) return false;
  if (*newest_ < newest) return pid > *newest_ && pid <= newest;
  return pid > *newest_ || pid <= newest;
}

void ProcessTable::clock_went_back(UnixNanos now) {
  next_due_ = now;
  for (auto& [pid, seen] : seen_) {
    seen.first_seen = std::min(seen.first_seen, now);
    seen.next_check = now;
  }
  for (auto& [key, rank] : ranks_) {
    rank.first_seen = std::min(rank.first_seen, now);
    rank.next_output_check = rank.next_full_check = now;
    rank.info.last_seen = std::min(rank.info.last_seen, now);
  }
  tell_again();
  for (Mentioned& mention : mentions_) mention.at = std::min(mention.at, now);
}

Status ProcessTable::scan(BlockingToken& token, UnixNanos now) {
  if (!boot_) {
    LGR_TRY(boot_, fs_.boot_time(token));
  }
  note_exits(token, now);
  // Read before the list: what is made in between is in the list, and seen as new next time too.
  const auto newest = fs_.last_pid(token);
  LGR_TRY(const std::vector<std::int32_t> pids, fs_.pids(token));

  std::erase_if(seen_, [&](const auto& entry) {
    return !std::binary_search(pids.begin(), pids.end(), entry.first);
  });
  unreadable_ = 0;
  for (const std::int32_t pid : pids) {
    if (pid == self_ && self_ != 0) continue;
    const Seen* known = find(pid);
    if (known == nullptr || now >= known->next_check) {
      examine(token, pid, now);
    } else if ((newest && may_be_reused(pid, *newest)) ||
               (!known->owner.empty() && !watch_.watches(pid) && known->owner == key_of(*known))) {
      const auto stat = fs_.stat(token, pid);
      if (!stat.ok() || stat->start_ticks != known->stat.start_ticks || is_gone(stat->state)) {
        examine(token, pid, now);
      }
    }
  }
  newest_ = newest;
  end_gone(token, now);
  apply_mentions(token, now);
  assign(token, now);

  next_due_ = INT64_MAX;
  for (const auto& [pid, seen] : seen_) {
    next_due_ = std::min(next_due_, seen.next_check);
    if (seen.unreadable) ++unreadable_;
  }
  return {};
}

void ProcessTable::examine(BlockingToken& token, std::int32_t pid, UnixNanos now) {
  const auto stat = fs_.stat(token, pid);
  if (!stat.ok()) {  // gone since the list was made
    seen_.erase(pid);
    return;
  }
  Seen& seen = seen_[pid];
  const bool is_new = seen.first_seen == 0 || seen.stat.start_ticks != stat->start_ticks;
  if (is_new) {
    seen = Seen{};
    seen.first_seen = now;
    seen.first_parent = stat->parent;
    watch_.remove(pid);
  }
  // Stack and environment stay where they are until exec: nothing of what was read has changed.
  const bool same_image = !is_new && seen.read && stat->image != 0 &&
                          stat->image == seen.stat.image && stat->name == seen.stat.name;
  seen.stat = stat.value();
  // A pidfd knows better: the first thread may be gone while others go on.
  seen.dead = seen.dead || (is_gone(stat->state) && !watch_.watches(pid));
  seen.kernel = pid == kKernelThreads || stat->parent == kKernelThreads;
  const UnixNanos age = std::max<UnixNanos>(now - std::min(seen.first_seen, start_of(seen)), 0);
  seen.next_check = grid_time(now, recheck_after(age));
  if (!seen.kernel && !seen.dead && !same_image) read_identity(token, seen);
}

void ProcessTable::read_identity(BlockingToken& token, Seen& seen) {
  const auto bytes = fs_.read(token, seen.stat.pid, "environ", kMaxEnvironment);
  seen.unreadable = !bytes.ok() && bytes.error().code() == ErrorCode::io;
  seen.read = bytes.ok() && !bytes->empty();
  // Between exec and its end, or going: keep what is known.
  const bool named = seen.identity && seen.identity->rank;
  if (!seen.read && (!seen.mention || named)) return;
  const Environment environment = parse_environment(bytes.ok() ? *bytes : std::string());
  const auto cmdline = fs_.read(token, seen.stat.pid, "cmdline", kMaxCommandLine);
  auto identity = identify(environment);
  if (cmdline.ok() && is_run_prelude(*cmdline, environment)) identity.reset();
  if (seen.mention) identity = identify_mentioned(environment, *seen.mention);
  if (identity != seen.identity) {
    seen.owner.clear();
    seen.below_rank = false;
  }
  seen.identity = std::move(identity);
  const auto visible = environment.find(kVisibleGpus);
  seen.visible_gpus = visible == environment.end() ? std::string() : visible->second;
  const auto tz = environment.find("TZ");
  seen.tz.reset();
  if (tz != environment.end()) seen.tz = tz->second;
  const auto files = environment.find(run_environment::kFiles);
  seen.run_files = files == environment.end() ? std::string() : files->second;
  const auto holder = environment.find(run_environment::kHolder);
  seen.run_began = 0;
  if (holder != environment.end()) {
    std::from_chars(holder->second.data(), holder->second.data() + holder->second.size(),
                    seen.run_began);
  }
  seen.launcher = cmdline.ok() && is_launcher_program(*cmdline);
}

void ProcessTable::end(BlockingToken& token, RankProcess& rank, UnixNanos now) {
  rank.info.exit = now;
  rank.info.exit_error = std::max<UnixNanos>(now - rank.info.last_seen, 0);
  rank.info.not_captured.clear();
  rank.reasons.clear();
  rank.pids.clear();
  if (!rank.run_files.empty()) rank.info.exit_status = run_status(token, rank.run_files);
}

void ProcessTable::note_exits(BlockingToken& token, UnixNanos now) {
  for (const std::int32_t pid : watch_.exited(token)) {
    const auto seen = seen_.find(pid);
    if (seen != seen_.end()) {
      seen->second.dead = true;
      const auto rank = ranks_.find(key_of(seen->second));
      if (rank != ranks_.end() && !rank->second.info.exit) end(token, rank->second, now);
    }
    watch_.remove(pid);
  }
}

// Before the living are looked at: who is new may be what a dead rank left behind.
void ProcessTable::end_gone(BlockingToken& token, UnixNanos now) {
  for (auto& [key, rank] : ranks_) {
    if (rank.info.exit) continue;
    const Seen* top = find(rank.info.pid);
    if (top != nullptr && !top->dead && key_of(*top) == key) continue;
    end(token, rank, now);
    watch_.remove(rank.info.pid);
  }
}

RankProcess& ProcessTable::rank_of(BlockingToken& token, Seen& top, UnixNanos now) {
  const std::string key = key_of(top);
  auto at = ranks_.find(key);
  if (at == ranks_.end()) {
    at = ranks_.emplace(key, RankProcess{}).first;
    at->second.first_seen = now;
    if (fs_.is_live() && watch_.add(token, top.stat.pid)) {
      // The pid may have been given to another process before the watch held it.
      const auto again = fs_.stat(token, top.stat.pid);
      if (!again.ok() || again->start_ticks != top.stat.start_ticks) {
        watch_.remove(top.stat.pid);
        top.dead = true;
      }
    }
    fill(token, top, at->second, now);
  } else if (at->second.info.identity != top.identity->variables ||
             at->second.info.rank_source != top.identity->rank_source) {
    fill(token, top, at->second, now);  // exec with another environment, or a rank was mentioned
  }
  return at->second;
}

void ProcessTable::fill(BlockingToken& token, const Seen& top, RankProcess& rank, UnixNanos now) {
  const Identity& identity = *top.identity;
  ProcessInfo& info = rank.info;
  info.host = host_;
  info.pid = top.stat.pid;
  info.start = start_of(top);
  info.start_error = boot_->error + tick_;
  info.last_seen = now;
  info.job = identity.job;
  if (info.job.empty()) info.job = fallback_job(host_, info.pid, info.start);
  rank.job_stated = identity.job_source == "LOGARITHM_JOB";
  info.rank = identity.rank;
  info.local_rank = identity.local_rank;
  info.group_rank = identity.group_rank;
  info.world_size = identity.world_size;
  info.rank_source = identity.rank_source;
  info.launcher = identity.launcher;
  info.restart_count = identity.restart_count;
  info.stated_attempt = identity.stated_attempt;
  info.identity = identity.variables;
  if (const auto bytes = fs_.read(token, info.pid, "cmdline", kMaxCommandLine); bytes.ok()) {
    info.command = redacted_command(*bytes);
  }
  if (const auto bytes = fs_.read(token, info.pid, "cgroup", 16u << 10); bytes.ok()) {
    info.container = container_id(*bytes);
    info.pod = pod_uid(*bytes);
  }
  if (const auto bytes = fs_.read(token, info.pid, "status", 16u << 10); bytes.ok()) {
    info.user = user_name(effective_uid(*bytes));
  }
  rank.utc_offset_minutes = utc_offset_minutes(token, top.tz, now);
  rank.visible_gpus = top.visible_gpus;
  rank.run_files = top.run_files;
  rank.next_output_check = now;
  rank.next_full_check = now;
}

std::string ProcessTable::user_name(const std::string& uid) {
  if (uid.empty()) return uid;
  const auto known = users_.find(uid);
  if (known != users_.end()) return known->second;
  return users_.emplace(uid, user_of(uid)).first->second;
}

std::vector<ProcessInfo> ProcessTable::take_changes(UnixNanos now) {
  std::vector<ProcessInfo> out;
  for (const auto& [key, rank] : ranks_) {
    const auto before = reported_.find(key);
    if (before != reported_.end()) {
      ProcessInfo same = rank.info;
      same.last_seen = before->second.last_seen;
      if (same == before->second && rank.info.last_seen - same.last_seen < kReportAlive) continue;
    }
    reported_[key] = rank.info;
    out.push_back(rank.info);
  }
  std::erase_if(ranks_, [&](const auto& entry) {
    const auto& exit = entry.second.info.exit;
    if (!exit || now - *exit < kKeepEnded) return false;
    reported_.erase(entry.first);
    return true;
  });
  return out;
}

bool ProcessTable::changed_hint(BlockingToken& token, UnixNanos now) const {
  return now >= next_due_ || fs_.last_pid(token) != newest_ || !watch_.exited(token).empty();
}

}  // namespace logarithm::agent
