// Must NOT compile: a coroutine has no BlockingToken and cannot make one.
#include <boost/asio/awaitable.hpp>

#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm {

Result<int> read_database(BlockingToken& token);

boost::asio::awaitable<Result<int>> handle_request() {
  BlockingToken token;
  co_return read_database(token);
}

}  // namespace logarithm
