#include <algorithm>
#include <set>

#include "agent/discover/process_table.h"

// Which processes are ranks, and which belong to the rank of another.
namespace logarithm::agent {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::int32_t kInit = 1;

}  // namespace

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

std::string ProcessTable::name_of(std::int32_t pid) const {
  const Seen* seen = find(pid);
  return seen == nullptr ? std::string() : seen->stat.name;
}

bool ProcessTable::is_launcher(std::int32_t pid) const {
  const Seen* seen = find(pid);
  return seen != nullptr && seen->launcher;
}

std::vector<std::int32_t> ProcessTable::nearest_first(std::int32_t pid) const {
  std::vector<std::int32_t> out;
  std::set<std::int32_t> ancestors;
  const Seen* at = find(pid);
  for (int depth = 0; depth < kMaxDepth && at != nullptr; ++depth) {
    const std::int32_t parent = at->stat.parent;
    if (parent > kInit && ancestors.insert(parent).second) out.push_back(parent);
    at = find(parent);
  }
  std::vector<std::int32_t> rest;
  for (const auto& [other, seen] : seen_) {
    if (other == pid || seen.kernel || ancestors.contains(other)) continue;
    (ancestors.contains(seen.stat.parent) ? out : rest).push_back(other);
  }
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

// The rank of a helper whose ancestors below the rank had ended before any scan saw them (shells
// and wrappers fork such chains), or that its rank left behind.
std::string ProcessTable::orphan_owner(const Seen& seen) const {
  const UnixNanos start = start_of(seen);
  for (const auto& [key, rank] : ranks_) {
    const ProcessInfo& info = rank.info;
    if (info.identity != seen.identity->variables || info.start > start) continue;
    if (seen.run_began != 0 &&
        info.start == boot_->at + static_cast<UnixNanos>(seen.run_began) * tick_) {
      return key;
    }
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

}  // namespace logarithm::agent
