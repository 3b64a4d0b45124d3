#pragma once

#include <memory>
#include <string>

#include "agent/uplink/transport.h"
#include "common/net/client.h"

namespace logarithm::agent {

// Frames over a WebSocket to `<aggregator>/api/v1/ingest`.
class WsTransport final : public Transport {
 public:
  WsTransport(net::Url url, std::string token);
  boost::asio::awaitable<Result<std::shared_ptr<Connection>>> connect() override;

 private:
  net::Url url_;
  net::ClientOptions options_;
};

}  // namespace logarithm::agent
