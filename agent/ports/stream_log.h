#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/async/blocking.h"
#include "common/base/result.h"
#include "common/block/block_writer.h"
#include "common/model/process.h"
#include "common/model/stream.h"
#include "common/wire/frame.h"

// What `follow` needs from the spool and the uplink. All on the agent's file thread.
namespace logarithm::agent {

// Everything that is needed to go on with a stream after a restart. Stored in the same record as
// the block that led to it, so that position, parser state and data cannot disagree.
struct StreamCheckpoint {
  StreamId stream;
  StreamAttributes attributes;  // the newest version
  std::string head;             // first bytes of this generation, at most kHeadBytes
  std::optional<std::uint32_t> predecessor;
  std::uint64_t position = 0;  // end of what is in the spool
  std::uint32_t tail_crc = 0;  // CRC32C of the min(256, position) source bytes before `position`
  std::string parser_state;    // StreamParser::state() at `position`
  std::string source;          // how to find the file again: opaque to the spool (JSON)
  bool closed = false;
  std::string close_reason;
  std::uint64_t close_size = 0;
  bool operator==(const StreamCheckpoint&) const = default;
};

// Where a stream's writer puts what it made.
class BlockLog {
 public:
  virtual ~BlockLog() = default;

  // Appends the checkpoint, with the block that leads to it when there is one. Error{no_space}: the
  // cap or the disk is full; nothing was written; the caller stops reading and tries again later.
  // Survives a crash of the process when it returns; a power cut loses at most what was not yet
  // synced, and then block and checkpoint are lost together, so that the file is read again.
  virtual Status append(BlockingToken&, const StreamCheckpoint& checkpoint,
                        const EncodedBlock* block) = 0;
  // A gap that lies in no block.
  virtual Status append_gap(BlockingToken&, const StreamCheckpoint& checkpoint, const Gap& gap) = 0;
};

// What is kept of a stream beside its checkpoint.
struct KeptStream {
  std::vector<StreamAttributes> versions;  // ascending; the newest, and older ones as far as kept
  std::vector<Range> waiting;  // of blocks that are not acknowledged and gaps that are not told
};

// Blocks and checkpoints, durable in append order (the spool). A block need not end at the
// checkpoint that comes with it: what the aggregator lost is appended again with the newest one.
class StreamLog : public BlockLog {
 public:
  // What the last run left: one checkpoint per stream generation that is not forgotten.
  virtual std::vector<StreamCheckpoint> recovered() const = 0;
  virtual KeptStream kept(const StreamId& stream) const = 0;
  // Acknowledged blocks that lie wholly in `lost` and are still here are appended again with
  // `checkpoint`, and taken out of `lost`. One piece of the log a call: `next` is 0 at first, and
  // false means that nothing is left to look at.
  virtual Result<bool> revive(BlockingToken&, const StreamCheckpoint& checkpoint,
                              std::vector<Range>& lost, std::uint64_t& next) = 0;

  // Process facts: kept (newest per key) until the aggregator has them.
  virtual Status append_processes(BlockingToken&, const std::vector<ProcessInfo>& processes) = 0;
  // True when every block of the stream up to `offset` is acknowledged by the aggregator.
  virtual bool acknowledged(const StreamId& stream, std::uint64_t offset) const = 0;
  // Drops the checkpoint of a stream that is gone and acknowledged.
  virtual Status forget(BlockingToken&, const StreamId& stream) = 0;

  // True when the state directory was made by this run (nothing known about older files), and when
  // that was: files born after it need not wait for the aggregator's answer.
  virtual UnixNanos created_at() const = 0;
};

// The aggregator's knowledge about streams.
class StreamOracle {
 public:
  virtual ~StreamOracle() = default;
  // Asks (again after a reconnect) for what is stored of a base; the answer arrives at answer().
  virtual void ask(const StreamBase& base, const std::string& job) = 0;
  // The newest answer since ask(); nullopt while there is none.
  virtual std::optional<wire::StreamState> answer(const StreamBase& base,
                                                  const std::string& job) = 0;
  // The answer is not needed any more.
  virtual void drop(const StreamBase& base, const std::string& job) = 0;
  // How many sessions began. Whatever was acknowledged before a session may be lost in it: the
  // aggregator's disk is not ours.
  virtual std::uint64_t sessions() const = 0;
};

}  // namespace logarithm::agent
