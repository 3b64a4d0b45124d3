#include "cli/runner.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>

namespace logarithm::cli {

Runner::Runner() : signals_(io_, SIGINT, SIGTERM) {
  signals_.async_wait([this](const boost::system::error_code& cancelled, int) {
    if (cancelled) return;
    interrupted_ = true;
    io_.stop();
  });
}

Status Runner::wait(std::chrono::milliseconds pause) {
  boost::asio::steady_timer timer(io_, pause);
  timer.async_wait([this](const boost::system::error_code&) { io_.stop(); });
  loop();
  if (interrupted_) return Error(ErrorCode::cancelled, "interrupted");
  return {};
}

void Runner::loop() {
  if (interrupted_) return;
  io_.restart();
  io_.run();
}

}  // namespace logarithm::cli
