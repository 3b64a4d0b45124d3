#pragma once

#include <string>

#include "aggregator/http/agents_view.h"
#include "aggregator/ingest/agents.h"
#include "common/base/clock.h"

namespace logarithm::aggregator {

// The agents as answers see them. Thread-safe as the registry is.
class RegistryView final : public AgentsView {
 public:
  RegistryView(const AgentRegistry& registry, const Clock& clock)
      : registry_(registry), clock_(clock) {}

  ProgressLookup progress_of(const JobKey& job) override;
  ProgressLookup progress_of_tenant(const std::string& tenant) override;
  std::size_t connected() const override { return registry_.connected_count(); }
  void write_agents(JsonWriter& out, const std::string& tenant) override;

 private:
  // Of one job, or of all jobs without one.
  ProgressLookup progress(const std::string& tenant, const std::string* job) const;
  // An agent that said nothing for so long is away, connected or not.
  static constexpr std::chrono::seconds kAway{10};
  std::chrono::seconds silence(const AgentStatus& agent) const;
  bool alive(const AgentStatus& agent) const { return agent.connected && silence(agent) < kAway; }

  const AgentRegistry& registry_;
  const Clock& clock_;
};

}  // namespace logarithm::aggregator
