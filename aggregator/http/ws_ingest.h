#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "aggregator/http/api.h"
#include "aggregator/ingest/ingest_hub.h"
#include "common/net/http.h"

namespace logarithm::aggregator {

// /api/v1/ingest: frames of one WebSocket into an IngestSession and its answers back. On the I/O
// thread; the hub must outlive every connection.
class IngestEndpoint final : public WebSocketEndpoint {
 public:
  explicit IngestEndpoint(IngestHub& hub) : hub_(hub) {}
  boost::asio::awaitable<void> serve(std::shared_ptr<net::WsConnection> connection) override;

 private:
  IngestHub& hub_;
};

}  // namespace logarithm::aggregator
