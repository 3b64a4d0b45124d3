// A fleet of agents without files, in one process: `fleet ws://HOST:PORT AGENTS`. Each is the real
// uplink over a real WebSocket. Prints what happens, one line each, until stdin ends:
// `try|in|failed MILLISECONDS AGENT`, by the monotonic clock.
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "agent/uplink/uplink.h"
#include "agent/uplink/ws_transport.h"
#include "common/async/worker_pool.h"
#include "tests/support/memory_fs.h"

namespace {

using namespace logarithm;
using namespace logarithm::agent;

void say(const char* what, std::size_t agent) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  std::printf(
      "%s %lld %zu\n", what,
      static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()),
      agent);
  std::fflush(stdout);
}

class WatchedTransport final : public Transport {
 public:
  WatchedTransport(const net::Url& url, std::size_t agent) : inner_(url, ""), agent_(agent) {}
  boost::asio::awaitable<Result<std::shared_ptr<Connection>>> connect() override {
    say("try", agent_);
    auto made = co_await inner_.connect();
    say(made.ok() ? "in" : "failed", agent_);
    co_return made;
  }

 private:
  WsTransport inner_;
  std::size_t agent_;
};

class NothingToSay final : public HeartbeatSource {
 public:
  wire::Heartbeat heartbeat(BlockingToken&) override { return {}; }
};

struct OneAgent {
  test::MemoryFs files;
  std::unique_ptr<Spool> spool;
  std::unique_ptr<WatchedTransport> transport;
  std::unique_ptr<Uplink> uplink;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  auto url = net::parse_url(argv[1]);
  if (!url.ok()) return 64;
  const std::size_t count = std::strtoul(argv[2], nullptr, 10);
  SystemClock clock;
  boost::asio::io_context io;
  WorkerPool worker(1);
  NothingToSay quiet;
  std::random_device seeds;
  std::vector<std::unique_ptr<OneAgent>> fleet;
  for (std::size_t i = 0; i < count; ++i) {
    auto one = std::make_unique<OneAgent>();
    SpoolOptions spool;
    spool.directory = "/state";
    auto opened = worker.run_and_wait(
        [&](BlockingToken& token) { return Spool::open(token, spool, one->files, clock); });
    if (!opened.ok()) return 1;
    one->spool = std::move(*opened);
    one->transport = std::make_unique<WatchedTransport>(*url, i);
    UplinkOptions options;
    options.agent = "simulated-" + std::to_string(i);
    options.host = options.agent;
    options.seed = seeds();
    one->uplink = std::make_unique<Uplink>(options, io.get_executor(), *one->spool, worker,
                                           *one->transport, quiet, clock);
    boost::asio::co_spawn(io, one->uplink->run(), [](std::exception_ptr, Status) {});
    fleet.push_back(std::move(one));
  }
  std::thread watch([&] {
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) {
    }
    std::_Exit(0);  // a thousand sessions are cut, as by a power failure
  });
  io.run();
  watch.join();
  return 0;
}
