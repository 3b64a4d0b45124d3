#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aggregator/http/lines_task.h"
#include "aggregator/http/query_runner.h"
#include "aggregator/http/raw_task.h"
#include "common/net/http.h"

namespace logarithm::aggregator {

// NDJSON: lines one a record, then what `end_record` makes. A failure on the way is a last record
// {"error": problem} in its place, so that it cannot be taken for an end.
class LinesBody final : public net::BodyStream {
 public:
  using EndRecord = std::function<std::string(LinesTask&)>;

  // `task` has already made its first piece. `place` is held as long as this lives.
  LinesBody(QueryRunner& queries, std::shared_ptr<LinesTask> task,
            std::shared_ptr<QueryPlace> place, EndRecord end_record)
      : queries_(queries),
        task_(std::move(task)),
        place_(std::move(place)),
        end_record_(std::move(end_record)) {
    place_->give_up = [this] { drop(); };
    place_->park = [this]() -> std::shared_ptr<void> { return task_ ? task_->park() : nullptr; };
  }

  boost::asio::awaitable<Result<std::optional<std::string>>> next() override;
  void abandoned() override {
    if (task_) task_->cancel();
  }

 private:
  void drop() {
    task_.reset();
    place_.reset();
  }
  boost::asio::awaitable<Result<std::optional<std::string>>> work();

  QueryRunner& queries_;
  std::shared_ptr<LinesTask> task_;    // null: the place went to another
  std::shared_ptr<QueryPlace> place_;  // as task_
  EndRecord end_record_;
  bool first_ = true, ended_ = false;
};

// The exact bytes of a stream. A failure cuts the answer short: the missing last chunk tells.
class RawBody final : public net::BodyStream {
 public:
  RawBody(QueryRunner& queries, std::shared_ptr<RawTask> task, std::shared_ptr<QueryPlace> place)
      : queries_(queries), task_(std::move(task)), place_(std::move(place)) {
    place_->give_up = [this] { drop(); };
    place_->park = [this]() -> std::shared_ptr<void> { return task_ ? task_->park() : nullptr; };
  }

  boost::asio::awaitable<Result<std::optional<std::string>>> next() override;
  void abandoned() override {
    if (task_) task_->cancel();
  }

 private:
  void drop() {
    task_.reset();
    place_.reset();
  }
  boost::asio::awaitable<Result<std::optional<std::string>>> work();

  QueryRunner& queries_;
  std::shared_ptr<RawTask> task_;      // null: the place went to another
  std::shared_ptr<QueryPlace> place_;  // as task_
};

}  // namespace logarithm::aggregator
