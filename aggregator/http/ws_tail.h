#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "aggregator/http/api.h"
#include "aggregator/tail/tail_hub.h"
#include "common/base/clock.h"

namespace logarithm::aggregator {

// /api/v1/tail: pieces of a tail as text messages; README.md has the protocol. On the I/O thread;
// the hub and the clock outlive every connection.
class TailEndpoint final : public TailService {
 public:
  TailEndpoint(TailHub& hub, Clock& clock) : hub_(hub), clock_(clock) {}

  std::optional<net::Response> refuse(const net::Request& request) override;
  boost::asio::awaitable<void> serve(net::Request request, std::string tenant,
                                     std::shared_ptr<net::WsConnection> connection) override;

 private:
  boost::asio::awaitable<Status> send_pieces(std::shared_ptr<TailHub::Subscription> tail,
                                             std::shared_ptr<net::WsConnection> connection);
  TailHub& hub_;
  Clock& clock_;
};

// A line as lines answers and tails have it.
std::string encode_line(const Line& line, const StreamJoin& join);

}  // namespace logarithm::aggregator
