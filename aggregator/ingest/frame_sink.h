#pragma once

#include <cstddef>
#include <string>

namespace logarithm::aggregator {

// Where a session's answers go: one connection, seen without its socket. Called on the I/O thread.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // Queues one binary message; never blocks, never fails (a broken connection drops it).
  virtual void send(std::string message) = 0;
  // The peer reads messages of several frames (common/wire/batch.h) from here on.
  virtual void allow_batches() {}
  // Bytes queued and not yet written: the session ends a peer that does not read.
  virtual std::size_t queued_bytes() const = 0;
  // Sends what is queued, then closes. Nothing is sent afterwards.
  virtual void close(std::string reason) = 0;
};

}  // namespace logarithm::aggregator
