#include <algorithm>

#include "agent/discover/container.h"
#include "agent/discover/process_table.h"
#include "agent/discover/text.h"

// Mapping lines: one process says which rank another has.
namespace logarithm::agent {
namespace {

constexpr std::size_t kMostMentions = 4096;
constexpr UnixNanos kMentionWait = 60'000'000'000;  // for a process that no scan has seen yet

// The pid in its innermost namespace, from /proc/PID/status; nullopt where it has only one.
std::optional<std::int32_t> inner_pid(std::string_view status) {
  constexpr std::string_view kName = "NSpid:";
  const std::size_t at = status.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view numbers = status.substr(at + kName.size());
  numbers = numbers.substr(0, numbers.find('\n'));
  const std::size_t last = numbers.find_last_of(" \t");
  const std::size_t first = numbers.find_first_not_of(" \t");
  if (last == std::string_view::npos || first >= last) return std::nullopt;
  return parse_count(numbers.substr(last + 1));
}

}  // namespace

void ProcessTable::mention(std::int32_t pid, const RankMention& mention, const std::string& speaker,
                           UnixNanos at) {
  if (mentions_.size() >= kMostMentions) mentions_.erase(mentions_.begin());
  mentions_.push_back({pid, mention, speaker, at});
  next_due_ = 0;
}

// The process that `speaker` knows by `pid`: in a container pids are others than ours.
ProcessTable::Seen* ProcessTable::mentioned(BlockingToken& token, const Mentioned& mention) {
  constexpr std::size_t kMost = 16u << 10;
  const auto rank = ranks_.find(mention.speaker);
  std::optional<std::int32_t> inner;
  std::string container;
  if (rank != ranks_.end()) {
    const auto status = fs_.read(token, rank->second.info.pid, "status", kMost);
    if (status.ok()) inner = inner_pid(*status);
    container = rank->second.info.container;
  }
  if (!inner) {
    const auto at = seen_.find(mention.pid);
    return at == seen_.end() ? nullptr : &at->second;
  }
  for (auto& [pid, seen] : seen_) {
    const auto status = fs_.read(token, pid, "status", kMost);
    if (!status.ok() || inner_pid(*status) != mention.pid) continue;
    const auto cgroup = fs_.read(token, pid, "cgroup", kMost);
    if (cgroup.ok() && container_id(*cgroup) == container) return &seen;
  }
  return nullptr;
}

void ProcessTable::apply_mentions(BlockingToken& token, UnixNanos now) {
  std::erase_if(mentions_, [&](const Mentioned& mention) {
    Seen* seen = mentioned(token, mention);
    if (seen == nullptr) return now - mention.at >= kMentionWait;
    // The pid was given to another process since.
    if (seen->kernel || seen->dead || start_of(*seen) > mention.at + boot_->error) return true;
    if (seen->mention == mention.mention) return true;
    seen->mention = mention.mention;
    read_identity(token, *seen);
    return true;
  });
}

}  // namespace logarithm::agent
