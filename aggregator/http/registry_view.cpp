#include "aggregator/http/registry_view.h"

#include <map>
#include <memory>

namespace logarithm::aggregator {

std::chrono::seconds RegistryView::silence(const AgentStatus& agent) const {
  return std::chrono::duration_cast<std::chrono::seconds>(clock_.now() - agent.heard);
}

ProgressLookup RegistryView::progress_of(const JobKey& job) {
  return progress(job.tenant, &job.job);
}

ProgressLookup RegistryView::progress_of_tenant(const std::string& tenant) {
  return progress(tenant, nullptr);
}

ProgressLookup RegistryView::progress(const std::string& tenant, const std::string* job) const {
  auto known = std::make_shared<std::map<StreamId, StreamProgress>>();
  for (const AgentStatus& agent : registry_.of_tenant(tenant)) {
    for (const wire::StreamLag& lag : agent.streams) {
      if (job != nullptr && lag.job != *job) continue;
      StreamProgress progress;
      progress.size = lag.size;
      progress.agent = agent.host;
      progress.alive = alive(agent);
      progress.silent = silence(agent);
      // The agent that is alive knows more than one that has left.
      auto [at, added] = known->emplace(lag.stream, progress);
      if (!added && progress.alive) at->second = progress;
    }
  }
  return [known](const StreamId& stream) -> std::optional<StreamProgress> {
    auto found = known->find(stream);
    if (found == known->end()) return std::nullopt;
    return found->second;
  };
}

void RegistryView::write_agents(JsonWriter& out, const std::string& tenant) {
  out.begin_array();
  for (const AgentStatus& agent : registry_.of_tenant(tenant)) {
    out.begin_object();
    out.key("agent").string(agent.agent);
    out.key("host").string(agent.host);
    out.key("version").string(agent.version);
    out.key("connected").boolean(agent.connected);
    out.key("alive").boolean(alive(agent));
    out.key("silent_seconds").integer(silence(agent).count());
    if (agent.last_heartbeat != 0) out.key("last_heartbeat").time(agent.last_heartbeat);
    out.key("clock_offset").big_signed(agent.clock_offset);
    if (agent.clock) {
      out.key("clock").begin_object();
      out.key("at").time(agent.clock->at);
      out.key("offset").big_signed(agent.clock->offset);
      out.key("error").big_signed(agent.clock->error).end_object();
    }
    out.key("spool_bytes").big(agent.spool_bytes);
    out.key("streams").begin_array();
    for (const wire::StreamLag& lag : agent.streams) {
      out.begin_object();
      out.key("id").string(to_text(lag.stream)).key("job").string(lag.job);
      out.key("size").big(lag.size).key("offset").big(lag.offset);
      out.key("lag").big(lag.size > lag.offset ? lag.size - lag.offset : 0);
      out.end_object();
    }
    out.end_array().key("not_captured").begin_array();
    for (const wire::NotCaptured& item : agent.not_captured) {
      out.begin_object().key("what").string(item.what).key("reason").string(item.reason);
      out.optional_string("job", item.job).end_object();
    }
    out.end_array().key("rule_problems").begin_array();
    for (const std::string& problem : agent.rule_problems) out.string(problem);
    out.end_array().key("config_problems").begin_array();
    for (const std::string& problem : agent.config_problems) out.string(problem);
    out.end_array().end_object();
  }
  out.end_array();
}

}  // namespace logarithm::aggregator
