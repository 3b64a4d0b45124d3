#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "aggregator/http/lines_body.h"
#include "aggregator/http/lines_task.h"
#include "aggregator/http/raw_task.h"
#include "common/async/worker_pool.h"
#include "tests/support/fake_storage.h"
#include "tests/support/manual_clock.h"

// Clients that do not take their answer.
namespace logarithm::aggregator {
namespace {

using test::FakeJob;
using test::make_line;
constexpr int kLines = 5000;

struct Stalled {
  test::FakeStorage storage;
  test::ManualClock clock;
  WorkerPool pool{1};
  boost::asio::io_context io;
  StreamId stream{StreamBase{1, 2}, 0};
  std::shared_ptr<FakeJob> job = storage.add("job");

  Stalled() {
    StreamAttributes attributes;
    attributes.job = "job";
    attributes.name = "stdout";
    for (std::uint64_t s = 0; s < 2; ++s) {
      job->add_stream({StreamBase{1, s + 2}, 0}, {attributes});
      std::uint64_t at = 0;
      for (int block = 0; block < 5; ++block) {
        std::vector<Line> lines;
        for (int i = 0; i < kLines / 5; ++i) {
          lines.push_back(
              make_line(at, static_cast<UnixNanos>(at / 3), "line at " + std::to_string(at)));
          at = lines.back().end();
        }
        job->add_block(s, 0, lines);
      }
    }
  }
  std::shared_ptr<LinesTask> lines(Direction direction = Direction::forward) {
    LinesRequest request;
    request.job = JobKey{"default", "job"};
    request.ndjson = true;
    request.clock = &clock;
    request.plan.direction = direction;
    return std::make_shared<LinesTask>(storage, std::move(request));
  }
  template <typename Task>
  void step(Task& task) {
    const auto done = pool.run_and_wait(
        [&](BlockingToken& token) { return task.step(token, [] { return false; }); });
    REQUIRE(done.ok());
  }
};

boost::asio::awaitable<void> take_one(LinesBody& body, std::string& text, bool& ended) {
  auto next = body.next();
  auto piece = co_await std::move(next);
  REQUIRE(piece.ok());
  ended = !piece->has_value();
  if (!ended) text += **piece;
}

}  // namespace

TEST_CASE("LinesTask: parked after every piece, it gives the same lines in the same order") {
  Stalled f;
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    std::string plain, parked;
    auto one = f.lines(direction), other = f.lines(direction);
    while (!one->finished()) {
      f.step(*one);
      plain += one->take_text();
    }
    int parks = 0;
    while (!other->finished()) {
      f.step(*other);
      parked += other->take_text();
      if (other->park() != nullptr) ++parks;
      CHECK(other->park() == nullptr);  // nothing is left to let go of
    }
    CHECK(parks > 5);
    CHECK(plain == parked);
  }
}

TEST_CASE("RawTask: parked after every piece, it gives the same bytes") {
  Stalled f;
  const auto read = [&](bool park) {
    RawRequest request;
    request.job = JobKey{"default", "job"};
    request.stream = f.stream;
    request.clock = &f.clock;
    RawTask task(f.storage, std::move(request));
    std::string out;
    while (!task.finished()) {
      f.step(task);
      out += task.take_piece();
      if (park) task.park();
    }
    return out;
  };
  CHECK(read(true) == read(false));
}

TEST_CASE("QueryRunner: an answer whose client stalls is parked, once, and goes on when it reads") {
  Stalled f;
  QueryOptions options;
  QueryRunner queries(f.pool, f.clock, options);
  auto task = f.lines();
  f.step(*task);
  LinesBody body(queries, task, queries.try_admit(), [](LinesTask&) { return "end\n"; });
  std::string text;
  bool ended = false;
  const auto take = [&] {
    boost::asio::co_spawn(f.io, take_one(body, text, ended),
                          [](std::exception_ptr thrown) { REQUIRE(!thrown); });
    for (int i = 0; i < 3; ++i) {
      f.io.restart();
      f.io.poll();
      f.pool.run_and_wait([](BlockingToken&) { return 0; });
    }
    f.io.restart();
    f.io.poll();
  };
  take();
  queries.park_stalled();
  CHECK(queries.parked() == 0);  // it may only be about to read
  f.clock.advance(f.io, options.park_after);
  queries.park_stalled();
  queries.park_stalled();
  CHECK(queries.parked() == 1);

  for (int i = 0; i < 100 && !ended; ++i) take();

  CHECK(ended);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2 * kLines + 1);
  CHECK(text.ends_with("end\n"));
  CHECK(queries.running() == 0);  // the last piece needs no place
}

TEST_CASE("QueryRunner: what costs little does not wait for a query's place") {
  Stalled f;
  QueryOptions options;
  options.max_concurrent = 1;
  options.max_light = 2;
  QueryRunner queries(f.pool, f.clock, options);
  auto query = queries.try_admit();
  REQUIRE(query != nullptr);
  CHECK(queries.try_admit() == nullptr);
  auto one = queries.try_admit_light();
  auto two = queries.try_admit_light();
  CHECK(two != nullptr);
  CHECK(queries.try_admit_light() == nullptr);
  CHECK(queries.running() == 1);
  one.reset();
  CHECK(queries.try_admit_light() != nullptr);
}

TEST_CASE("QueryRunner: running queries share the memory, and none gets less than it needs") {
  Stalled f;
  QueryOptions options;
  options.memory = 64u << 20;
  QueryRunner queries(f.pool, f.clock, options);
  std::vector<std::shared_ptr<QueryPlace>> places;
  places.push_back(queries.try_admit());
  CHECK(queries.memory_share() == options.memory);
  for (int i = 0; i < 30; ++i) places.push_back(queries.try_admit());
  CHECK(queries.memory_share() == 8u << 20);
}

}  // namespace logarithm::aggregator
