// Must NOT compile: a coroutine that is made on a worker would run elsewhere, and block there.
#include "common/async/worker_pool.h"
#include "common/base/result.h"

namespace logarithm {

boost::asio::awaitable<Status> read_database(BlockingToken& token);

void handle_request(WorkerPool& pool) {
  auto read = [](BlockingToken& token) { return read_database(token); };
  pool.run_and_wait(read);
}

}  // namespace logarithm
