#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/filters.h"
#include "cli/tail_message.h"
#include "common/async/backoff.h"
#include "common/base/clock.h"
#include "common/net/http.h"

namespace logarithm::cli {

// Follows /api/v1/tail through lost connections and restarts of the server: each connection goes on
// behind the last message that came whole, so nothing is missing and nothing comes twice.
class TailClient {
 public:
  struct Hooks {
    // False ends the tail.
    std::function<bool(const TailMessage&, std::string_view raw)> message;
    std::function<void(const std::string& why)> lost;
    std::function<void()> found_again;
  };

  // `clock` outlives this. `seed` is that of the pauses' jitter.
  TailClient(net::Url server, std::string token, Params params, Hooks hooks, Clock& clock,
             std::uint64_t seed);

  // Until a hook or the server ends it; the Error says why the server (or a first connection that
  // failed) did.
  boost::asio::awaitable<Result<bool>> run();

 private:
  enum class End { done, lost };
  boost::asio::awaitable<Result<End>> connect_once();
  boost::asio::awaitable<Result<std::shared_ptr<net::WsConnection>>> connect();
  Result<bool> take(std::string_view text);

  const net::Url server_;
  const std::string token_;
  const Params params_;
  const Hooks hooks_;
  Clock& clock_;
  Backoff backoff_;
  std::string cursor_;
  std::string why_;
  bool was_connected_ = false, is_lost_ = false;
};

}  // namespace logarithm::cli
