#include "aggregator/tail/tail_hub.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "common/async/task_group.h"
#include "tests/support/fake_storage.h"
#include "tests/support/run_coro.h"
#include "tests/unit/aggregator/tail/tail_fixture.h"

namespace logarithm::aggregator {
namespace {

namespace asio = boost::asio;

struct HubFixture {
  test::FakeStorage storage;
  TailJob job{1};
  SystemClock clock;
  asio::io_context io;
  TailHubOptions options;
  std::unique_ptr<WorkerPool> pool = std::make_unique<WorkerPool>(1);
  std::unique_ptr<TailHub> hub;
  int pieces = 0;

  HubFixture() {
    job.job = storage.add("j");
    StreamAttributes attributes;
    attributes.job = "j";
    job.job->add_stream(StreamId{StreamBase{1, 2}, 0}, {attributes});
    options.round_pause = std::chrono::nanoseconds(0);
    open();
  }
  void open() {
    hub = std::make_unique<TailHub>(storage, *pool, io.get_executor(), clock, encode_id, options);
  }
  ~HubFixture() {
    pool.reset();
    io.restart();
    io.poll();
  }

  static TailQuery query(const std::string& name = "j") {
    TailQuery out;
    out.job.job = name;
    return out;
  }

  // Takes pieces until `lines` lines came, or an error.
  asio::awaitable<Status> take(std::shared_ptr<TailHub::Subscription> tail, std::size_t lines,
                               Received& received) {
    while (received.size() < lines) {
      auto piece = co_await hub->next(tail);
      if (!piece.ok()) co_return piece.error();
      ++pieces;
      received.add(piece->lines);
    }
    co_return Status();
  }

  // Runs until `done` says so: nothing here waits for time.
  void run_until(const std::function<bool()>& done) {
    auto keep = asio::make_work_guard(io);
    io.restart();
    while (!done()) io.run_one();
  }
};

TEST_CASE_FIXTURE(HubFixture, "TailHub: a commit wakes every tail of the job") {
  TaskGroup group(io.get_executor());
  std::vector<Received> received(3);
  for (Received& one : received) {
    auto tail = hub->subscribe(query());
    group.spawn("tail", take(std::move(tail), 4, one));
  }
  // The first piece says where the job is; then all wait.
  run_until([&] { return pieces == 3; });

  job.store(0, TailJob::lines(0, 4, 10));
  hub->on_commit(JobKey{"default", "j"});
  hub->on_commit(JobKey{"default", "another"});
  run_until([&] { return group.size() == 0; });

  for (const Received& one : received) CHECK(one.size() == 4);
  CHECK(hub->stats().lines == 12);
}

TEST_CASE_FIXTURE(HubFixture,
                  "TailHub: who asks the same shares blocks that not all have room for") {
  int encoded = 0;
  options.shared_bytes = 1;  // one block
  hub = std::make_unique<TailHub>(
      storage, *pool, io.get_executor(), clock,
      [&](const Line& line, const StreamJoin& join) {
        ++encoded;
        return encode_id(line, join);
      },
      options);
  for (const int rank : {1, 2}) {
    StreamAttributes attributes;
    attributes.job = "j";
    attributes.rank = rank;
    job.job->add_stream(StreamId{StreamBase{5, static_cast<std::uint64_t>(rank)}, 0}, {attributes});
  }
  TaskGroup group(io.get_executor());
  std::vector<Received> received(6);
  for (std::size_t i = 0; i < received.size(); ++i) {
    TailQuery asked = query();
    asked.query_hash = i % 2;
    asked.predicate = filter("rank", i % 2 == 0 ? "1" : "2");
    group.spawn("tail", take(hub->subscribe(std::move(asked)), 4, received[i]));
  }
  run_until([&] { return pieces == 6; });

  job.store(1, TailJob::lines(0, 4, 10));
  job.store(2, TailJob::lines(0, 4, 10));
  hub->on_commit(JobKey{"default", "j"});
  run_until([&] { return group.size() == 0; });

  CHECK(hub->stats().lines == 24);
  CHECK(encoded == 8);
}

TEST_CASE_FIXTURE(HubFixture, "TailHub: a job that nobody knows ends the tail with not_found") {
  TaskGroup group(io.get_executor());
  Received received;
  group.spawn("tail", take(hub->subscribe(query("nobody's")), 1, received));
  run_until([&] { return group.size() == 0; });

  auto joined = test::run_coro(io, group.join());

  REQUIRE_FALSE(joined.ok());
  CHECK(joined.error().code() == ErrorCode::not_found);
}

TEST_CASE_FIXTURE(HubFixture, "TailHub: tails are limited, and leaving makes room") {
  options.max_tails = 2;
  open();
  auto one = hub->subscribe(query());
  auto two = hub->subscribe(query());
  CHECK(hub->subscribe(query()) == nullptr);
  CHECK(hub->stats().refused == 1);
  one.reset();
  CHECK(hub->subscribe(query()) != nullptr);
}

TEST_CASE_FIXTURE(HubFixture, "TailHub: a client that leaves while it waits is forgotten") {
  TaskGroup group(io.get_executor());
  Received received;
  group.spawn("tail", take(hub->subscribe(query()), 1, received));
  run_until([&] { return pieces == 1; });

  group.request_stop();
  run_until([&] { return group.size() == 0 && hub->stats().open == 0; });

  CHECK(hub->stats().open == 0);
}

}  // namespace
}  // namespace logarithm::aggregator
