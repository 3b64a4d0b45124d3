#include "agent/discover/process_table.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "agent/discover/command_line.h"
#include "agent/discover/text.h"
#include "agent/discover/time_zone.h"
#include "agent/discover/users.h"

namespace logarithm::agent {
namespace {

constexpr std::size_t kMaxEnvironment = 2u << 20;  // the kernel's own default limit for exec
constexpr std::size_t kMaxCommandLine = 16u << 10;
constexpr int kMaxDepth = 64;
constexpr std::int32_t kInit = 1;
constexpr std::int32_t kKernelThreads = 2;  // their common parent

bool is_gone(char state) { return state == 'Z' || state == 'X' || state == 'x'; }

// Ever more rarely with age.
UnixNanos recheck_after(UnixNanos age) {
  return std::clamp(age / 2, ProcessTable::kMinRecheck, ProcessTable::kMaxRecheck);
}

std::string fallback_job(const std::string& host, std::int32_t pid, UnixNanos start) {
  return host + "-" + std::to_string(pid) + "-" + std::to_string(start / 1'000'000'000);
}

// Where the environment names no rank, the line does. What it said is kept among the variables, so
// that it is seen where the rank came from, and another line is another identity.
void apply_mapping(const MappedProcess& mapped, std::optional<Identity>& identity) {
  if (identity && identity->rank) return;
  const ProcessMapping& mapping = mapped.mapping;
  if (!identity) {
    if (!mapping.rank) return;
    identity.emplace();
    identity->job = mapped.job;
    identity->launcher = "mapped";
  }
  std::string said;
  const auto take = [&](const char* name, const std::optional<std::int32_t>& value,
                        std::optional<std::int32_t>& place) {
    if (!value) return;
    if (!place) place = value;
    said += std::string(said.empty() ? "" : " ") + name + "=" + std::to_string(*value);
  };
  take("rank", mapping.rank, identity->rank);
  take("local_rank", mapping.local_rank, identity->local_rank);
  take("group_rank", mapping.group_rank, identity->group_rank);
  take("world_size", mapping.world_size, identity->world_size);
  identity->variables["mapping line"] = said;
  if (identity->rank) {
    identity->rank_source = "mapping line";
    identity->certain = true;
  }
}

}  // namespace

ProcessTable::ProcessTable(const ProcFs& fs, std::string host, std::int32_t self)
    : fs_(fs), host_(std::move(host)), self_(self) {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  tick_ = 1'000'000'000 / (ticks > 0 ? ticks : 100);
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

Status ProcessTable::scan(BlockingToken& token, UnixNanos now) {
  if (!boot_) {
    LGR_TRY(boot_, fs_.boot_time(token));
  }
  note_exits(token, now);
  // Read before the list: what is made in between is in the list, and seen as new next time too.
  const auto newest = fs_.last_pid(token);
  LGR_TRY(const std::vector<std::int32_t> pids, fs_.pids(token));

  const std::set<std::int32_t> listed(pids.begin(), pids.end());
  std::erase_if(seen_, [&](const auto& entry) { return !listed.contains(entry.first); });
  unreadable_ = 0;
  for (const std::int32_t pid : pids) {
    if (pid == self_ && self_ != 0) continue;
    const Seen* known = find(pid);
    if (known == nullptr || now >= known->next_check || now < known->first_seen) {
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
  end_gone(now);
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
  seen.stat = stat.value();
  // A pidfd knows better: the first thread may be gone while others go on.
  seen.dead = seen.dead || (is_gone(stat->state) && !watch_.watches(pid));
  seen.kernel = pid == kKernelThreads || stat->parent == kKernelThreads;
  const UnixNanos age = std::max<UnixNanos>(now - std::min(seen.first_seen, start_of(seen)), 0);
  seen.next_check = now + recheck_after(age);
  if (!seen.kernel && !seen.dead) read_identity(token, seen);
}

void ProcessTable::read_identity(BlockingToken& token, Seen& seen) {
  const auto bytes = fs_.read(token, seen.stat.pid, "environ", kMaxEnvironment);
  seen.unreadable = !bytes.ok() && bytes.error().code() == ErrorCode::io;
  if (!bytes.ok() || bytes->empty()) return;  // between exec and its end, or going: keep
  const Environment environment = parse_environment(*bytes);
  auto identity = identify(environment);
  if (seen.mapped) apply_mapping(*seen.mapped, identity);
  if (identity != seen.identity) {
    seen.owner.clear();
    seen.below_rank = false;
  }
  seen.identity = std::move(identity);
  const auto tz = environment.find("TZ");
  seen.tz.reset();
  if (tz != environment.end()) seen.tz = tz->second;
  const auto cmdline = fs_.read(token, seen.stat.pid, "cmdline", kMaxCommandLine);
  seen.launcher = cmdline.ok() && is_launcher_program(*cmdline);
}

ProcessTable::Seen* ProcessTable::mapped_process(const MappedProcess& mapped) {
  if (mapped.mapping.pid) {
    const auto at = seen_.find(*mapped.mapping.pid);
    return at == seen_.end() || at->second.dead || at->second.kernel ? nullptr : &at->second;
  }
  // A line without a pid speaks of its writer.
  const auto writer = ranks_.find(mapped.writer);
  if (writer == ranks_.end() || writer->second.info.exit) return nullptr;
  const auto at = seen_.find(writer->second.info.pid);
  return at == seen_.end() ? nullptr : &at->second;
}

bool ProcessTable::map(const MappedProcess& mapped) {
  Seen* seen = mapped_process(mapped);
  if (seen == nullptr || (seen->mapped && seen->mapped->mapping == mapped.mapping)) return false;
  if (seen->identity && seen->identity->rank && !seen->mapped) return false;
  seen->mapped = mapped;
  seen->next_check = 0;
  next_due_ = 0;
  return true;
}

void ProcessTable::end(RankProcess& rank, UnixNanos now) {
  rank.info.exit = now;
  rank.info.exit_error = std::max<UnixNanos>(now - rank.info.last_seen, 0);
  rank.info.not_captured.clear();
  rank.reasons.clear();
  rank.pids.clear();
}

void ProcessTable::note_exits(BlockingToken& token, UnixNanos now) {
  for (const std::int32_t pid : watch_.exited(token)) {
    const auto seen = seen_.find(pid);
    if (seen != seen_.end()) {
      seen->second.dead = true;
      const auto rank = ranks_.find(key_of(seen->second));
      if (rank != ranks_.end() && !rank->second.info.exit) end(rank->second, now);
    }
    watch_.remove(pid);
  }
}

// A number that may count nodes or pods is no rank where the real ranks, or their launcher, are
// among the descendants.
void ProcessTable::mark_ancestors_of_ranks() {
  for (const auto& [pid, seen] : seen_) {
    const bool certain = seen.identity && seen.identity->rank && seen.identity->certain;
    if ((!certain && !seen.launcher) || seen.dead) continue;
    std::int32_t parent = seen.stat.parent;
    for (int depth = 0; depth < kMaxDepth; ++depth) {
      const auto at = seen_.find(parent);
      if (at == seen_.end()) break;
      Seen& above = at->second;
      if (above.identity && (seen.launcher || !same_rank(*above.identity, *seen.identity))) {
        above.below_rank = true;
      }
      parent = above.stat.parent;
    }
  }
}

bool ProcessTable::counts_as_rank(const Seen& seen) const {
  if (!seen.identity || seen.dead || seen.kernel) return false;
  const Identity& identity = *seen.identity;
  if (!identity.rank) return !seen.launcher && !seen.below_rank && !is_shell(seen.stat.name);
  if (identity.certain) return true;
  if (seen.launcher || seen.below_rank) return false;
  if (identity.rank_source != "SLURM_PROCID" || identity.variables.contains("SLURM_STEP_ID")) {
    return true;
  }
  // The batch script has SLURM_PROCID=0 as well, but no step: the tasks of its job are the ranks.
  return std::none_of(seen_.begin(), seen_.end(), [&](const auto& entry) {
    const auto& other = entry.second.identity;
    return other && other->rank && other->variables.contains("SLURM_STEP_ID") &&
           other->variables.at("SLURM_STEP_ID") != "batch" && other->job == identity.job;
  });
}

const ProcessTable::Seen* ProcessTable::top_of(const Seen& seen) const {
  const Seen* top = &seen;
  std::int32_t parent = seen.stat.parent;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const Seen* above = find(parent);
    if (above == nullptr) break;
    if (counts_as_rank(*above) && same_rank(*above->identity, *seen.identity)) top = above;
    parent = above->stat.parent;
  }
  return top;
}

// The parent of `seen` has ended, so it was adopted: by init, or by another ancestor that collects
// orphans. A relaunch of the rank has a launcher of its own, or the one that `top` had.
bool ProcessTable::is_left_behind(const Seen& seen, const Seen& top) const {
  const std::int32_t parent = seen.stat.parent;
  if (parent == top.first_parent) return false;
  if (parent == kInit) return true;
  std::int32_t ancestor = top.stat.parent;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    if (ancestor == parent) return true;
    const Seen* above = find(ancestor);
    if (above == nullptr) return false;
    ancestor = above->stat.parent;
  }
  return false;
}

// The rank of a helper whose ancestors below the rank had ended before any scan saw them (shells
// and wrappers fork such chains), or that its rank left behind.
std::string ProcessTable::orphan_owner(const Seen& seen) const {
  const UnixNanos start = start_of(seen);
  for (const auto& [key, rank] : ranks_) {
    const ProcessInfo& info = rank.info;
    if (info.identity != seen.identity->variables || info.start > start) continue;
    if (info.exit) {
      if (start <= *info.exit - info.exit_error) return key;
      continue;
    }
    const Seen* top = find(info.pid);
    if (top != nullptr && top != &seen && key_of(*top) == key && is_left_behind(seen, *top)) {
      return key;
    }
  }
  return {};
}

void ProcessTable::assign(BlockingToken& token, UnixNanos now) {
  for (auto& [key, rank] : ranks_) rank.pids.clear();
  mark_ancestors_of_ranks();
  for (auto& [pid, seen] : seen_) {
    if (!counts_as_rank(seen)) {
      // It was taken for a rank before its descendants showed that it only starts them.
      const auto was = seen.dead || seen.owner.empty() ? ranks_.end() : ranks_.find(seen.owner);
      if (was != ranks_.end() && was->second.info.pid == pid) {
        was->second.info.rank.reset();
        was->second.info.rank_source.clear();
        was->second.pids.push_back(pid);
      }
      continue;
    }
    if (seen.owner.empty()) {
      const Seen* top = top_of(seen);
      if (top == &seen) {
        const std::int32_t parent = seen.stat.parent;
        const bool lost = parent > kInit && parent != self_ && find(parent) == nullptr;
        if (lost && now - seen.first_seen < kParentWait) continue;
        seen.owner = orphan_owner(seen);
        if (seen.owner.empty()) seen.owner = key_of(seen);
      } else {
        seen.owner = key_of(*top);
      }
    }
    const std::string own_key = key_of(seen);
    if (seen.owner == own_key) {
      RankProcess& rank = rank_of(token, seen, now);
      if (rank.info.exit) continue;
      rank.pids.insert(rank.pids.begin(), pid);
    }
  }
  for (auto& [pid, seen] : seen_) {
    if (seen.owner.empty() || seen.dead || seen.owner == key_of(seen)) continue;
    const auto rank = ranks_.find(seen.owner);
    if (rank != ranks_.end()) rank->second.pids.push_back(pid);
  }
  for (auto& [key, rank] : ranks_) {
    if (!rank.info.exit) rank.info.last_seen = std::max(rank.info.last_seen, now);
  }
}

// Before the living are looked at: who is new may be what a dead rank left behind.
void ProcessTable::end_gone(UnixNanos now) {
  for (auto& [key, rank] : ranks_) {
    if (rank.info.exit) continue;
    const Seen* top = find(rank.info.pid);
    if (top != nullptr && !top->dead && key_of(*top) == key) continue;
    end(rank, now);
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
  } else if (at->second.info.identity != top.identity->variables) {
    fill(token, top, at->second, now);  // exec with another environment
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
  }
  if (const auto bytes = fs_.read(token, info.pid, "status", 16u << 10); bytes.ok()) {
    info.user = user_name(effective_uid(*bytes));
  }
  rank.utc_offset_minutes = utc_offset_minutes(token, top.tz, now);
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

std::string container_id(std::string_view cgroup) {
  constexpr std::size_t kLength = 64;
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  std::size_t run = 0;
  for (std::size_t i = 0; i <= cgroup.size(); ++i) {
    if (i < cgroup.size() && is_hex(cgroup[i])) {
      ++run;
      continue;
    }
    if (run == kLength) return std::string(cgroup.substr(i - kLength, kLength));
    run = 0;
  }
  return {};
}

}  // namespace logarithm::agent
