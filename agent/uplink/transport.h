#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/wire/frame.h"

namespace logarithm::agent {

// One session with the aggregator, in frames. One send() and one receive() may be pending at once.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual boost::asio::awaitable<Status> send(wire::Frame frame) = 0;
  // In this order, in as few messages as the peer reads.
  virtual boost::asio::awaitable<Status> send_all(std::vector<wire::Frame> frames) {
    for (wire::Frame& next : frames) {
      wire::Frame frame = std::move(next);
      Status sent = co_await send(std::move(frame));
      if (!sent.ok()) co_return sent;
    }
    co_return Status();
  }
  // Frames of unknown types are skipped. An Error ends the session.
  virtual boost::asio::awaitable<Result<wire::Frame>> receive() = 0;
  virtual boost::asio::awaitable<void> close(std::string reason) = 0;
  virtual void cancel() = 0;  // a pending receive() ends with an Error
};

// Seam to the network; io thread.
class Transport {
 public:
  virtual ~Transport() = default;
  // Ends by itself within a few seconds.
  virtual boost::asio::awaitable<Result<std::shared_ptr<Connection>>> connect() = 0;
};

}  // namespace logarithm::agent
