#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/result.h"
#include "common/block/block_header.h"
#include "common/model/process.h"
#include "common/model/stream.h"

// Messages of the subprotocol `logarithm.v1`, one per binary WebSocket message, or several
// (batch.h). Byte tables and the versioning rule: common/wire/README.md. Pure: no I/O. Unknown
// frame types and unknown keys are skipped by a reader; a damaged frame is Error{corrupt}.
namespace logarithm::wire {

inline constexpr std::uint16_t kProtocolVersion = 1;
inline constexpr std::size_t kMaxFrame = 20u << 20;

// ---- agent -> aggregator

struct Hello {
  std::uint16_t protocol = kProtocolVersion;
  std::string agent;  // stable id of this agent's host, for status
  std::string host;
  std::string version;              // program version
  std::uint16_t block_version = 0;  // newest that it can write
  std::string token;                // empty without authentication
  bool batches = false;             // it reads messages of several frames: see batch.h
};

// Asks for what is stored of a base; answered by StreamState. `lease` for network file systems.
struct StreamOpen {
  StreamBase base;
  std::string job;
  bool lease = false;
};

// A (new or corrected) attribute version of a generation, and its head as far as it is known.
struct StreamInfo {
  StreamId stream;
  StreamAttributes attributes;
  std::string head;                          // at most kHeadBytes
  std::optional<std::uint32_t> predecessor;  // the generation it follows (truncation, replacement)
};

struct Processes {
  std::vector<ProcessInfo> processes;  // upserts by key
};

struct Templates {
  std::vector<TemplateDef> templates;
};

// A block for the shard of `job`. Sent within the credit; answered by Ack or Refuse.
struct Block {
  StreamId stream;
  std::string job;
  std::uint64_t first = 0, end = 0;
  std::string bytes;
};

// The stream ends here: nothing will ever follow. `size` is its final size in bytes.
struct Closed {
  StreamId stream;
  std::string job;
  std::uint64_t size = 0;
  std::string reason;  // "exited", "deleted", "replaced", "truncated", "once"
};

// A gap that lies in no block (its bytes are gone for good, or `to` is unknown).
struct GapReport {
  StreamId stream;
  std::string job;
  Gap gap;
};

struct StreamLag {
  StreamId stream;
  std::string job;
  std::uint64_t size = 0;    // of the file
  std::uint64_t offset = 0;  // read and spooled
};

struct NotCaptured {
  std::string what;    // "process host/pid stdout", a path
  std::string reason;  // "pipe", "tty", "socket", "compressed", "permission denied"
  std::string job;
};

struct Heartbeat {
  UnixNanos sent = 0;                     // agent's wall clock
  std::vector<StreamLag> streams;         // those that changed since the last
  std::vector<NotCaptured> not_captured;  // the whole list
  std::uint64_t spool_bytes = 0;
  std::vector<std::string> rule_problems;  // rules that are disabled: "file:line: path: what"
  // Why the last reload kept the former configuration, and what needs a restart.
  std::vector<std::string> config_problems;
  // As of the newest exchange (ClockReply): the aggregator's clock minus the agent's, and by how
  // much that may be wrong; nanoseconds. No error: not known yet.
  std::int64_t clock_offset = 0;
  std::optional<std::int64_t> clock_error;
};

// Asks to be told (by Flushed) when everything sent before is stored.
struct Flush {
  std::uint64_t id = 0;
};

// ---- aggregator -> agent

struct Welcome {
  std::uint16_t protocol = kProtocolVersion;
  std::string version;
  std::uint16_t block_version = 0;  // the version to write
  std::uint64_t credit = 0;         // bytes of blocks that may be in flight
  std::uint32_t max_block = 0;      // bytes
  UnixNanos now = 0;                // aggregator's wall clock
  bool batches = false;             // it reads messages of several frames
};

struct StreamState {
  StreamBase base;
  std::string job;
  bool leased_elsewhere = false;
  std::vector<StoredGeneration> generations;
};

// [first, end) of the stream is on disk (fsynced).
struct Ack {
  StreamId stream;
  std::string job;
  std::uint64_t first = 0, end = 0;
};

enum class RefuseCode : std::uint8_t {
  // retryable
  overloaded = 1,        // wait `retry_after_ms`
  no_space = 2,          // the aggregator's disk is full
  unknown_template = 3,  // send the definitions in `templates`, then the block again
  unknown_stream = 4,    // send StreamInfo first
  overlap = 5,           // part is stored: cut again from `resume_at`
  not_yours = 6,         // another agent holds the lease
  // permanent: dead letter
  corrupt = 64,
  template_conflict = 65,  // one fingerprint, two texts: send those lines plain
  too_large = 66,
  forbidden = 67,
  unsupported = 68,
};
constexpr bool is_retryable(RefuseCode code) { return static_cast<std::uint8_t>(code) < 64; }
std::string_view to_string(RefuseCode code);

struct Refuse {
  StreamId stream;
  std::string job;
  std::uint64_t first = 0, end = 0;
  RefuseCode code = RefuseCode::overloaded;
  std::string message;
  std::uint64_t resume_at = 0;  // for overlap
  std::uint32_t retry_after_ms = 0;
  std::vector<TemplateId> templates;  // for unknown_template and template_conflict
};

// Echo of a heartbeat: with it the agent's clock offset and error bound can be computed.
struct ClockReply {
  UnixNanos sent = 0;      // copied from the heartbeat
  UnixNanos received = 0;  // aggregator's wall clock
  UnixNanos replied = 0;
};

struct Flushed {
  std::uint64_t id = 0;
};

// The session ends; come back after `retry_after_ms` (0: never, e.g. a wrong token). From an agent
// with 0: it will not come back (an import that is done).
struct Goodbye {
  std::string reason;
  std::uint32_t retry_after_ms = 0;
};

using Frame =
    std::variant<Hello, StreamOpen, StreamInfo, Processes, Templates, Block, Closed, GapReport,
                 Heartbeat, Flush, Welcome, StreamState, Ack, Refuse, ClockReply, Flushed, Goodbye>;

// Type numbers 1… in the order above are the format; numbers are never reused.
std::string encode(const Frame& frame);

// nullopt: a frame type that this version does not know (skip it).
Result<std::optional<Frame>> decode(std::string_view bytes);

}  // namespace logarithm::wire
