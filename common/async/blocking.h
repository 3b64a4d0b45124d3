#pragma once

namespace logarithm {

// Permission to block. Every function that may block (SQLite, files, big zstd) takes a
// BlockingToken&, and only a worker thread has one: not copyable, no public constructor. A
// coroutine on an io_context can therefore not call such a function by accident; lint forbids the
// token in coroutine signatures, and WorkerPool refuses functions that return an awaitable.
class BlockingToken {
 public:
  BlockingToken(const BlockingToken&) = delete;
  BlockingToken& operator=(const BlockingToken&) = delete;

 private:
  friend class WorkerPool;
  BlockingToken() = default;
};

}  // namespace logarithm
