#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/net/http.h"

namespace logarithm::net {

// A handler, or a body, that throws has a bug or no memory: the client gets a 500 (or a torn body),
// our log the reason, and the server goes on. What was cancelled gets a 503, and is no failure.
boost::asio::awaitable<Response> guarded(HttpHandler& handler, Request request);
boost::asio::awaitable<Result<std::optional<std::string>>> guarded_next(
    std::shared_ptr<BodyStream> stream);

}  // namespace logarithm::net
