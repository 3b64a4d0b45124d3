#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <exception>
#include <list>
#include <optional>
#include <string>

#include "common/base/result.h"

namespace logarithm {

// Owns coroutines, in place of `detached`: each child ends before join() does, a stop reaches all
// of them, and the first failure is kept. Not thread-safe: everything, the children included, runs
// on `executor`, which must be one thread or a strand.
class TaskGroup {
 public:
  explicit TaskGroup(boost::asio::any_io_executor executor);
  // All children must have ended (a bug otherwise: they would run on without an owner).
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts a child. A Status that is not ok and not `cancelled`, and an exception, are failures;
  // they end the child only, the owner decides what follows. After request_stop() the child is
  // started and stopped at once.
  void spawn(std::string name, boost::asio::awaitable<Status> task);
  void spawn(std::string name, boost::asio::awaitable<void> task);

  // Cancels what the children wait for (cancellation type terminal). A child that does more work
  // afterwards checks stopping() or its own cancellation state.
  void request_stop();
  bool stopping() const { return stopping_; }
  std::size_t size() const { return children_.size(); }

  // Returns when no child is left, with the first failure ("<name>: <what>"). One waiter at a time.
  // Cancelling the waiter requests a stop and waits on: the children are never left behind.
  boost::asio::awaitable<Status> join();

 private:
  struct Child {
    std::string name;
    boost::asio::cancellation_signal signal;
  };
  using Children = std::list<Child>;

  Children::iterator add(std::string name);
  void ended(Children::iterator child, std::exception_ptr thrown, Status status);

  boost::asio::any_io_executor executor_;
  Children children_;
  boost::asio::steady_timer idle_;  // never expires; cancelled when the last child ends
  std::optional<Error> failure_;
  bool stopping_ = false;
};

}  // namespace logarithm
