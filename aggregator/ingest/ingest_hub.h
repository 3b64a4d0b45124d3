#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "aggregator/ingest/agents.h"
#include "aggregator/ingest/frame_sink.h"
#include "aggregator/ingest/leases.h"
#include "aggregator/store/writer_pool.h"

namespace logarithm::aggregator {

class IngestSession;

struct IngestOptions {
  std::uint64_t credit = 16u << 20;  // bytes of blocks an agent may have in flight
  std::uint32_t max_block = block_format::kMaxBlockBytes;
  std::size_t max_templates_bytes = 32u << 20;  // definitions kept per session
  std::size_t max_waiting = 65536;              // stream-opens and small facts in flight
  std::size_t max_unsent = 32u << 20;           // bytes queued to a peer that does not read
  std::chrono::seconds lease{45};
};

struct IngestStats {
  std::uint64_t sessions = 0;  // open now
  std::uint64_t frames = 0, unknown_frames = 0, protocol_errors = 0, refused_blocks = 0;
  std::uint64_t ended_after_loss = 0;  // sessions, so that agents compare what is stored
};

// What the sessions share. Lives on one I/O thread, as all sessions do; collaborators outlive it.
class IngestHub {
 public:
  // The tenant of a token; an Error ends the session for good.
  using Authenticate = std::function<Result<std::string>(const std::string& token)>;

  IngestHub(Storage& storage, WriterPool& writers, WorkerPool& workers,
            boost::asio::any_io_executor executor, const Clock& clock, Authenticate authenticate,
            IngestOptions options);

  // A session for one connection. `sink` must live until the session was told on_disconnect().
  std::shared_ptr<IngestSession> connect(FrameSink& sink);

  // Tokens have changed: sessions whose token is not good any more are ended.
  void check_tokens();

  AgentRegistry& agents() { return agents_; }
  const IngestStats& stats() const { return stats_; }

 private:
  friend class IngestSession;
  using AgentKey = std::pair<std::string, std::string>;  // tenant, agent
  // Ends another open session of the same agent; the one to wait for, if its writes are pending.
  std::shared_ptr<IngestSession> replace(const AgentKey& agent,
                                         const std::shared_ptr<IngestSession>& session);
  void forget(const AgentKey& agent, const IngestSession& session);

  Storage& storage_;
  WriterPool& writers_;
  WorkerPool& workers_;
  boost::asio::any_io_executor executor_;
  const Clock& clock_;
  Authenticate authenticate_;
  const IngestOptions options_;
  AgentRegistry agents_;
  LeaseTable leases_;
  std::map<AgentKey, std::weak_ptr<IngestSession>> sessions_;
  IngestStats stats_;
};

}  // namespace logarithm::aggregator
