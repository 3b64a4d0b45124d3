#include "common/net/guarded.h"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <utility>

#include "common/base/logging.h"
#include "common/net/http_text.h"

namespace logarithm::net {
namespace asio = boost::asio;

asio::awaitable<Response> guarded(HttpHandler& handler, Request request) {
  std::string what;
  try {
    co_return co_await handler.handle(std::move(request));
  } catch (const boost::system::system_error& problem) {
    if (problem.code() == asio::error::operation_aborted)
      co_return problem_response(503, "stopped");
    what = problem.what();
  } catch (const std::exception& problem) {
    what = problem.what();
  }
  LGR_ERROR("http handler failed error={}", what);
  co_return problem_response(500, "internal error");
}

asio::awaitable<Result<std::optional<std::string>>> guarded_next(
    std::shared_ptr<BodyStream> stream) {
  std::string what;
  try {
    co_return co_await stream->next();
  } catch (const boost::system::system_error& problem) {
    if (problem.code() == asio::error::operation_aborted) {
      co_return Error(ErrorCode::cancelled, "stopped");
    }
    what = problem.what();
  } catch (const std::exception& problem) {
    what = problem.what();
  }
  LGR_ERROR("http body stream failed error={}", what);
  co_return Error(ErrorCode::io, "internal error");
}

}  // namespace logarithm::net
