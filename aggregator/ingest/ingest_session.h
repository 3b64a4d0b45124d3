#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "aggregator/ingest/ingest_hub.h"

namespace logarithm::aggregator {

// One agent's protocol: frames in, answers out through a sink; no sockets. An ack leaves only after
// the shard's commit. What is sent after the end is dropped, but writes under way are finished: a
// newer session of the same agent waits for them before it says what is stored. I/O thread only.
class IngestSession : public std::enable_shared_from_this<IngestSession> {
 public:
  IngestSession(IngestHub& hub, FrameSink& sink) : hub_(hub), sink_(&sink) {}

  void on_frame(std::string_view bytes);
  // The connection is gone: the sink is not used any more.
  void on_disconnect();

  // Says goodbye and closes. retry_after 0: never come back.
  void end(std::string reason, std::chrono::milliseconds retry_after);
  bool ended() const { return state_ == State::ended; }
  // Calls `then` once no write of this session is pending (at once if none is).
  void when_drained(std::function<void()> then);

  // Tokens have changed: ends the session when its own is not good any more.
  void check_token();

 private:
  enum class State { waiting_for_hello, open, ended };

  // A frame that only an aggregator sends is a protocol error.
  template <typename Other>
  void on(Other&&) {
    protocol_error("a frame that agents do not send");
  }
  void on(wire::Hello&& hello);
  void on(wire::StreamOpen&& open);
  void on(wire::StreamInfo&& info);
  void on(wire::Processes&& processes);
  void on(wire::Templates&& templates);
  void on(wire::Block&& block);
  void on(wire::Closed&& closed);
  void on(wire::GapReport&& report);
  void on(wire::Heartbeat&& heartbeat);
  void on(wire::Flush&& flush);
  void on(wire::Goodbye&& goodbye);

  void send(const wire::Frame& frame);
  // Ends the session, so that the agent compares again, when stored data was lost meanwhile.
  bool end_after_loss();
  void protocol_error(std::string reason);
  void refuse(const wire::Block& envelope, wire::RefuseCode code, std::string message,
              std::uint32_t retry_after_ms);
  JobKey job_key(const std::string& job) const;

  // Small facts: a failed commit ends the session, because the agent repeats them when it is back.
  void submit_fact(const std::string& job, IngestItem item);
  void on_fact_done(std::uint64_t ticket, Result<std::vector<IngestOutcome>> outcomes);
  // What a block's answer needs after its bytes were moved away.
  struct BlockTicket {
    std::uint64_t ticket = 0;
    wire::Block envelope;  // without bytes
    std::size_t bytes = 0;
    std::vector<TemplateId> attached;
  };
  void on_block_done(const BlockTicket& block, Result<std::vector<IngestOutcome>> outcomes);
  // Definitions of this session that the job's shard was not given yet.
  wire::Templates attach_templates(const std::string& job, const std::vector<TemplateId>& ids);
  void detach_templates(const std::string& job, const std::vector<TemplateId>& ids);

  void look_up_streams();
  void answer_streams(std::vector<Result<wire::StreamState>> states);

  std::uint64_t take_ticket();
  void finish_ticket(std::uint64_t ticket);

  IngestHub& hub_;
  FrameSink* sink_;  // null after on_disconnect()
  State state_ = State::waiting_for_hello;
  std::string token_;          // of the hello
  IngestHub::AgentKey agent_;  // tenant, agent; set by the hello
  std::uint64_t losses_ = 0;   // of the storage, as of the hello

  std::uint64_t next_ticket_ = 1;
  std::set<std::uint64_t> pending_;                              // submissions not committed yet
  std::deque<std::pair<std::uint64_t, std::uint64_t>> flushes_;  // (tickets below, flush id)
  std::vector<std::function<void()>> drained_;
  std::uint64_t in_flight_ = 0;  // bytes of blocks

  std::deque<wire::StreamOpen> opens_;
  bool looking_up_ = false;
  bool waiting_for_previous_ = false;

  std::unordered_map<TemplateId, TemplateDef> templates_;
  std::size_t templates_bytes_ = 0;
  std::unordered_map<std::string, std::unordered_set<TemplateId>> attached_;  // by job
};

}  // namespace logarithm::aggregator
