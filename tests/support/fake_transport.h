#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/uplink/transport.h"

namespace logarithm::agent::test {

// The aggregator's end of a session, driven by the test: what was sent is in `sent`, say() answers,
// cut() breaks the connection.
class FakeConnection final : public Connection {
 public:
  explicit FakeConnection(boost::asio::io_context& io)
      : wake_(io, boost::asio::steady_timer::time_point::max()) {}

  std::vector<wire::Frame> sent;
  std::int64_t fail_send = -1;  // the send that breaks the connection, counted from 0
  bool closed = false;
  std::function<void(const wire::Frame&)> on_sent;

  void say(wire::Frame frame) {
    inbox_.push_back(std::move(frame));
    wake_.cancel();
  }
  void cut() {
    broken_ = true;
    wake_.cancel();
  }
  template <typename T>
  std::vector<T> all() const {
    std::vector<T> out;
    for (const wire::Frame& frame : sent) {
      if (const T* body = std::get_if<T>(&frame)) out.push_back(*body);
    }
    return out;
  }

  boost::asio::awaitable<Status> send(wire::Frame frame) override {
    if (broken_ || (fail_send >= 0 && fail_send-- == 0)) {
      cut();
      co_return Error(ErrorCode::unavailable, "cut");
    }
    sent.push_back(std::move(frame));
    if (on_sent) on_sent(sent.back());
    co_return Status();
  }
  boost::asio::awaitable<Result<wire::Frame>> receive() override {
    while (inbox_.empty() && !broken_) {
      co_await wake_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    }
    if (inbox_.empty()) co_return Error(ErrorCode::unavailable, "cut");
    wire::Frame frame = std::move(inbox_.front());
    inbox_.pop_front();
    co_return frame;
  }
  boost::asio::awaitable<void> close(std::string) override {
    closed = true;
    co_return;
  }
  void cancel() override { cut(); }

 private:
  std::deque<wire::Frame> inbox_;
  boost::asio::steady_timer wake_;
  bool broken_ = false;
};

// Gives connections while `up`; made() is told about each.
class FakeTransport final : public Transport {
 public:
  explicit FakeTransport(boost::asio::io_context& io) : io_(io) {}

  bool up = true;
  Error refusal{ErrorCode::unavailable, "refused"};
  int attempts = 0;
  std::shared_ptr<FakeConnection> last;
  std::function<void(FakeConnection&)> made;

  boost::asio::awaitable<Result<std::shared_ptr<Connection>>> connect() override {
    ++attempts;
    if (!up) co_return refusal;
    last = std::make_shared<FakeConnection>(io_);
    if (made) made(*last);
    std::shared_ptr<Connection> connection = last;
    co_return connection;
  }

 private:
  boost::asio::io_context& io_;
};

}  // namespace logarithm::agent::test
