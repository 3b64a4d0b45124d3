#include "aggregator/ingest/ingest_hub.h"

#include "aggregator/ingest/ingest_session.h"

namespace logarithm::aggregator {

IngestHub::IngestHub(Storage& storage, WriterPool& writers, WorkerPool& workers,
                     boost::asio::any_io_executor executor, const Clock& clock,
                     Authenticate authenticate, IngestOptions options)
    : storage_(storage),
      writers_(writers),
      workers_(workers),
      executor_(std::move(executor)),
      clock_(clock),
      authenticate_(std::move(authenticate)),
      options_(options),
      leases_(clock, options.lease) {}

std::shared_ptr<IngestSession> IngestHub::connect(FrameSink& sink) {
  leases_.sweep();
  return std::make_shared<IngestSession>(*this, sink);
}

std::shared_ptr<IngestSession> IngestHub::replace(const AgentKey& agent,
                                                  const std::shared_ptr<IngestSession>& session) {
  std::weak_ptr<IngestSession>& slot = sessions_[agent];
  std::shared_ptr<IngestSession> previous = slot.lock();
  slot = session;
  if (previous == nullptr || previous == session) return nullptr;
  previous->end("a newer connection of this agent took over", std::chrono::seconds(1));
  return previous;
}

void IngestHub::forget(const AgentKey& agent, const IngestSession& session) {
  const auto at = sessions_.find(agent);
  if (at == sessions_.end()) return;
  const auto current = at->second.lock();
  if (current != nullptr && current.get() != &session) return;
  sessions_.erase(at);
  agents_.disconnected(agent.first, agent.second);
}

void IngestHub::check_tokens() {
  std::vector<std::shared_ptr<IngestSession>> open;  // ending one changes the table
  for (const auto& [key, weak] : sessions_) {
    if (auto session = weak.lock()) open.push_back(std::move(session));
  }
  for (const auto& session : open) session->check_token();
}

}  // namespace logarithm::aggregator
