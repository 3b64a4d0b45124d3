#include "aggregator/ingest/agents.h"

#include <algorithm>

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kOffsetsKept = 32;

}  // namespace

void AgentRegistry::connected(const std::string& tenant, const wire::Hello& hello,
                              MonotonicTime heard) {
  std::lock_guard lock(mutex_);
  const Key key(tenant, hello.agent);
  if (agents_.size() >= kMaxAgents && !agents_.contains(key)) {
    auto oldest = agents_.end();
    for (auto at = agents_.begin(); at != agents_.end(); ++at) {
      if (at->second.status.connected) continue;
      if (oldest == agents_.end() || at->second.status.heard < oldest->second.status.heard) {
        oldest = at;
      }
    }
    if (oldest != agents_.end()) agents_.erase(oldest);
  }
  Agent& agent = agents_[key];
  agent.status.tenant = tenant;
  agent.status.agent = hello.agent;
  agent.status.host = hello.host;
  agent.status.version = hello.version;
  agent.status.connected = true;
  agent.status.heard = heard;
}

void AgentRegistry::forget(const std::string& tenant, const std::string& agent) {
  std::lock_guard lock(mutex_);
  agents_.erase(Key(tenant, agent));
}

void AgentRegistry::disconnected(const std::string& tenant, const std::string& agent) {
  std::lock_guard lock(mutex_);
  if (auto at = agents_.find(Key(tenant, agent)); at != agents_.end()) {
    at->second.status.connected = false;
  }
}

void AgentRegistry::heartbeat(const std::string& tenant, const std::string& agent,
                              const wire::Heartbeat& heartbeat, UnixNanos now,
                              MonotonicTime heard) {
  std::lock_guard lock(mutex_);
  const auto at = agents_.find(Key(tenant, agent));
  if (at == agents_.end()) return;
  Agent& known = at->second;
  known.status.last_heartbeat = now;
  known.status.heard = heard;
  known.status.spool_bytes = heartbeat.spool_bytes;
  known.status.not_captured = heartbeat.not_captured;
  if (known.status.not_captured.size() > kMaxNotCaptured) {
    entries_not_kept_ += known.status.not_captured.size() - kMaxNotCaptured;
    known.status.not_captured.resize(kMaxNotCaptured);
  }
  known.status.rule_problems = heartbeat.rule_problems;
  if (known.status.rule_problems.size() > kMaxRuleProblems) {
    entries_not_kept_ += known.status.rule_problems.size() - kMaxRuleProblems;
    known.status.rule_problems.resize(kMaxRuleProblems);
  }
  known.status.config_problems = heartbeat.config_problems;
  if (known.status.config_problems.size() > kMaxRuleProblems) {
    entries_not_kept_ += known.status.config_problems.size() - kMaxRuleProblems;
    known.status.config_problems.resize(kMaxRuleProblems);
  }
  if (heartbeat.clock_error) {
    const ClockReading reading{now, heartbeat.clock_offset, *heartbeat.clock_error};
    known.status.clock = reading;
    clocks_.note(tenant, known.status.host, reading);
  }
  const std::int64_t offset = now - heartbeat.sent;
  if (known.offsets.size() < kOffsetsKept) {
    known.offsets.push_back(offset);
  } else {
    known.offsets[known.next_offset++ % kOffsetsKept] = offset;
  }
  known.status.clock_offset = *std::min_element(known.offsets.begin(), known.offsets.end());
  for (const wire::StreamLag& lag : heartbeat.streams) {
    if (known.streams.size() >= kMaxStreams && !known.streams.contains(lag.stream)) {
      ++entries_not_kept_;
      continue;
    }
    known.streams[lag.stream] = lag;
  }
}

void AgentRegistry::stream_arrives(const std::string& tenant, const std::string& agent,
                                   const StreamId& stream, const std::string& job,
                                   std::uint64_t end) {
  std::lock_guard lock(mutex_);
  const auto at = agents_.find(Key(tenant, agent));
  if (at == agents_.end()) return;
  std::map<StreamId, wire::StreamLag>& streams = at->second.streams;
  if (const auto known = streams.find(stream); known != streams.end()) {
    known->second.size = std::max(known->second.size, end);
    known->second.offset = std::max(known->second.offset, end);
  } else if (streams.size() < kMaxStreams) {
    streams[stream] = wire::StreamLag{stream, job, end, end};
  }
}

void AgentRegistry::stream_closed(const std::string& tenant, const std::string& agent,
                                  const StreamId& stream) {
  std::lock_guard lock(mutex_);
  if (auto at = agents_.find(Key(tenant, agent)); at != agents_.end()) {
    at->second.streams.erase(stream);
  }
}

AgentStatus AgentRegistry::status_of(const Agent& agent) const {
  AgentStatus status = agent.status;
  for (const auto& [stream, lag] : agent.streams) status.streams.push_back(lag);
  return status;
}

std::vector<AgentStatus> AgentRegistry::all() const {
  std::lock_guard lock(mutex_);
  std::vector<AgentStatus> result;
  for (const auto& [key, agent] : agents_) result.push_back(status_of(agent));
  return result;
}

std::vector<AgentStatus> AgentRegistry::of_tenant(const std::string& tenant) const {
  std::vector<AgentStatus> result = all();
  std::erase_if(result, [&](const AgentStatus& status) { return status.tenant != tenant; });
  return result;
}

std::vector<wire::StreamLag> AgentRegistry::lagging(const std::string& tenant,
                                                    const std::string& job) const {
  std::lock_guard lock(mutex_);
  std::vector<wire::StreamLag> result;
  for (const auto& [key, agent] : agents_) {
    if (key.first != tenant) continue;
    for (const auto& [stream, lag] : agent.streams) {
      if (lag.job == job && lag.offset < lag.size) result.push_back(lag);
    }
  }
  return result;
}

std::vector<wire::NotCaptured> AgentRegistry::not_captured(const std::string& tenant,
                                                           const std::string& job) const {
  std::lock_guard lock(mutex_);
  std::vector<wire::NotCaptured> result;
  for (const auto& [key, agent] : agents_) {
    if (key.first != tenant) continue;
    for (const wire::NotCaptured& item : agent.status.not_captured) {
      if (item.job == job) result.push_back(item);
    }
  }
  return result;
}

std::vector<HostClock> AgentRegistry::take_clocks() {
  std::lock_guard lock(mutex_);
  return clocks_.take();
}

void AgentRegistry::give_back_clocks(std::vector<HostClock> readings) {
  std::lock_guard lock(mutex_);
  clocks_.give_back(std::move(readings));
}

std::uint64_t AgentRegistry::connected_count() const {
  std::lock_guard lock(mutex_);
  return static_cast<std::uint64_t>(
      std::count_if(agents_.begin(), agents_.end(),
                    [](const auto& entry) { return entry.second.status.connected; }));
}

std::uint64_t AgentRegistry::entries_not_kept() const {
  std::lock_guard lock(mutex_);
  return entries_not_kept_;
}

}  // namespace logarithm::aggregator
