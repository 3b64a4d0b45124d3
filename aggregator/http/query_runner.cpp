#include "aggregator/http/query_runner.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>

namespace logarithm::aggregator {

void QueryRunner::evict_one() {
  std::shared_ptr<QueryPlace> longest;
  for (const auto& weak : places_) {
    auto place = weak.lock();
    if (!place || !place->waiting_since || !place->give_up) continue;
    if (clock_.now() - *place->waiting_since < options_.patience) continue;
    if (!longest || *place->waiting_since < *longest->waiting_since) longest = std::move(place);
  }
  if (!longest) return;
  ++evicted_;
  const auto give_up = std::move(longest->give_up);
  give_up();
}

std::shared_ptr<QueryPlace> QueryRunner::try_admit() {
  std::erase_if(places_, [](const auto& place) { return place.expired(); });
  if (*running_ >= options_.max_concurrent) evict_one();
  if (*running_ >= options_.max_concurrent) {
    ++refused_;
    return nullptr;
  }
  ++total_;
  auto place = std::make_shared<QueryPlace>(running_);
  places_.push_back(place);
  return place;
}

std::shared_ptr<QueryPlace> QueryRunner::try_admit_light() {
  if (*light_ >= options_.max_light) {
    ++refused_;
    return nullptr;
  }
  ++total_;
  return std::make_shared<QueryPlace>(light_);
}

void QueryRunner::park_stalled() {
  for (const auto& weak : places_) {
    auto place = weak.lock();
    if (!place || place->parked || !place->waiting_since || !place->park) continue;
    if (clock_.now() - *place->waiting_since < options_.park_after) continue;
    auto left = place->park();
    place->parked = true;
    if (!left) continue;
    ++parked_;
    pool_.post([left = std::move(left)](BlockingToken&) mutable {
      left.reset();
      return Status();
    });
  }
}

std::size_t QueryRunner::memory_share() const {
  static constexpr std::size_t kLeast = 8u << 20;
  return std::max(kLeast, options_.memory / std::max<std::size_t>(*running_, 1));
}

boost::asio::awaitable<Status> QueryRunner::run(std::shared_ptr<QueryTask> task) {
  const auto state = co_await boost::asio::this_coro::cancellation_state;
  const MonotonicTime begin = clock_.now(), deadline = begin + options_.deadline;
  while (true) {
    if (state.cancelled() != boost::asio::cancellation_type::none) task->cancel();
    if (task->cancelled()) co_return Error(ErrorCode::cancelled, "the client has left");
    const MonotonicTime until = std::min(clock_.now() + options_.slice, deadline);
    Clock* clock = &clock_;
    auto turn = [task, clock, until](BlockingToken& token) -> Result<bool> {
      const auto time_is_up = [&] { return task->cancelled() || clock->now() >= until; };
      return task->step(token, time_is_up);
    };
    auto stepped = co_await pool_.run(std::move(turn));
    if (!stepped.ok()) co_return stepped.error();
    if (*stepped) break;
    if (clock_.now() >= deadline) {
      ++timeouts_;
      co_return Error(ErrorCode::timeout,
                      "the query took longer than " +
                          std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(
                                             options_.deadline)
                                             .count()) +
                          " ms; narrow it by time, rank or iteration");
    }
  }
  seconds_.observe(clock_.now() - begin);
  co_return Status();
}

}  // namespace logarithm::aggregator
