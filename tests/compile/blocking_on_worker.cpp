// Must compile: the twin of blocking_from_coroutine.cpp, with the call on a worker.
#include "common/async/worker_pool.h"
#include "common/base/result.h"

namespace logarithm {

Result<int> read_database(BlockingToken& token);

boost::asio::awaitable<Result<int>> handle_request(WorkerPool& pool) {
  auto read = [](BlockingToken& token) { return read_database(token); };
  co_return co_await pool.run(read);
}

}  // namespace logarithm
