#include "aggregator/store/writer_pool.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>

#include "made_store.h"

namespace logarithm::aggregator::test {
namespace {

// Runs what was posted until `done()`; the workers post from their own threads.
template <typename Done>
void run_until(boost::asio::io_context& io, Done done) {
  auto guard = boost::asio::make_work_guard(io);
  io.restart();
  while (!done()) io.run_one();
}

struct Pool {
  explicit Pool(WriterPool::Options options = {})
      : writers(store.storage(), workers, io.get_executor(), store.clock, options) {}

  Store store;
  boost::asio::io_context io;
  WorkerPool workers{1};
  WriterPool writers;
};

// Holds the only worker until released, so that submissions pile up.
class Hold {
 public:
  explicit Hold(WorkerPool& workers) {
    auto wait = std::make_shared<std::shared_future<void>>(release_.get_future().share());
    workers.post([wait](BlockingToken&) {
      wait->wait();
      return 0;
    });
  }
  void release() { release_.set_value(); }

 private:
  std::promise<void> release_;
};

std::vector<IngestItem> items_of(int stream, std::uint64_t offset) {
  const StreamId id = stream_of("s" + std::to_string(stream));
  const MadeBlock block = make_block(id, "run7", numbered_lines(offset, 3));
  std::vector<IngestItem> items;
  items.push_back(info_of(id, "run7"));
  items.push_back(block.templates);
  items.push_back(block.block);
  return items;
}

TEST_CASE("case 101: Writer pool: what piled up becomes one commit, answered one by one") {
  Pool pool;
  Hold hold(pool.workers);
  std::vector<int> answered;
  std::size_t hooked = 0;
  pool.writers.on_committed([&](const Commit& commit) { hooked += commit.blocks.size(); });
  for (int i = 0; i < 20; ++i) {
    REQUIRE(pool.writers.submit(key_of("run7"), items_of(i, 0), [&, i](auto outcomes) {
      REQUIRE(outcomes.ok());
      CHECK(outcomes->size() == 3);
      CHECK(outcomes->back().stored);
      answered.push_back(i);
    }));
  }
  CHECK(answered.empty());

  hold.release();
  run_until(pool.io, [&] { return answered.size() == 20 && hooked == 20; });

  CHECK(std::is_sorted(answered.begin(), answered.end()));
  CHECK(pool.writers.stats().commits == 1);
  CHECK(pool.writers.stats().queued_bytes == 0);
  CHECK(pool.store.all_lines(key_of("run7")).size() == 60);
}

TEST_CASE("Writer pool: a full queue says so and takes again when it has drained") {
  WriterPool::Options options;
  options.max_queued_bytes = 1;
  Pool pool(options);
  Hold hold(pool.workers);
  int answered = 0;
  auto done = [&](auto) { ++answered; };
  CHECK(pool.writers.submit(key_of("run7"), items_of(0, 0), done));
  CHECK_FALSE(pool.writers.submit(key_of("run7"), items_of(1, 0), done));
  CHECK(pool.writers.stats().overloaded == 1);

  hold.release();
  run_until(pool.io, [&] { return answered == 1; });

  CHECK(pool.writers.submit(key_of("run7"), items_of(1, 0), done));
  run_until(pool.io, [&] { return answered == 2; });
}

TEST_CASE("Writer pool: jobs are committed apart, and freshness is measured") {
  Pool pool;
  std::vector<std::optional<double>> freshness;
  pool.writers.on_committed([&](const Commit& commit) { freshness.push_back(commit.freshness); });
  auto other = items_of(1, 0);
  std::get<wire::StreamInfo>(other[0]).attributes.job = "other";
  std::get<wire::Block>(other[2]).job = "other";
  const UnixNanos observed = pool.store.clock.wall_now() - 2'000'000'000;
  auto done = [](auto outcomes) { CHECK(outcomes->back().stored); };
  REQUIRE(pool.writers.submit(key_of("run7"), items_of(0, 0), done, observed));
  REQUIRE(pool.writers.submit(key_of("other"), std::move(other), done, observed));
  run_until(pool.io, [&] { return freshness.size() == 2; });

  CHECK(freshness[0] == doctest::Approx(2.0));
  CHECK(pool.writers.stats().commits == 2);
}

}  // namespace
}  // namespace logarithm::aggregator::test
