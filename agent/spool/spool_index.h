#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/spool/records.h"

namespace logarithm::agent {

// Where a template's definition lies in a segment.
struct TemplatePlace {
  std::uint32_t append_offset = 0;  // the record that carries it; a segment is far below 4 GiB
};

struct Segment {
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
  std::size_t unacked = 0;
  bool damaged = false;
  std::unordered_map<TemplateId, TemplatePlace> templates;
};

// A block that is not acked: where it lies, never its bytes.
struct SpooledEntry {
  std::uint64_t segment = 0, offset = 0;
  std::uint32_t length = 0;
  std::uint32_t attributes_version = 0;
  StreamId stream;
  Range range;
};

struct SpooledStream {
  StreamCheckpoint checkpoint;
  std::vector<StreamAttributes> versions;  // ascending, the newest is checkpoint.attributes
  std::uint32_t facts_crc = 0;
  std::string facts_source;  // what the record of that CRC has: empty but in older spools
  std::uint64_t last = 0;
  std::uint64_t revision = 0;  // grows with every change of what StreamInfo says
  std::set<std::uint64_t> unacked;
  std::size_t facts = 0;   // pending gaps and closed
  bool forgotten = false;  // no checkpoint for the next run, kept until its facts are delivered
  // Recovery only.
  bool broken = false;              // an append was lost: later ones cannot be trusted
  bool stale = false;               // the newest snapshot does not have it
  std::set<std::uint64_t> missing;  // listed as unacked by a snapshot, found nowhere
};

// What the spool knows without reading a file, and how records change it. Pure; used by recovery
// (replay) and by the running spool. Memory: about 150 bytes a block, a few KiB a stream.
class SpoolIndex {
 public:
  std::map<StreamId, SpooledStream> streams;
  std::map<std::uint64_t, SpooledEntry> blocks;
  std::map<std::uint64_t, Fact> facts;
  std::map<std::uint64_t, Segment> segments;
  std::uint64_t next_number = 1;
  std::uint64_t next_fact = 1;
  std::uint64_t revision = 0;
  std::uint64_t facts_revision = 1;  // grows when next() may have a fact to give

  // --- replay, in the order of the files
  void replay_header(const HeaderRecord& record);
  void replay_stream(StreamRecord record, std::uint32_t crc);
  void replay_checkpoint(const CheckpointRecord& record);
  void replay_append(Segment& segment, const AppendRecord& record, std::uint64_t offset,
                     std::uint64_t length);
  // Ends the replay: what became of streams with lost blocks. Returns the numbers of blocks that
  // are still in a file but must not be sent, since their stream goes on before them.
  std::vector<std::uint64_t> finish_replay();
  std::size_t broken_streams() const { return broken_streams_; }

  // --- changes, also used by the replay
  void apply(StreamId stream, const StreamPosition& at, std::uint64_t number);
  void add_block(Segment& segment, std::uint64_t number, const SpooledEntry& entry);
  void add_fact(Fact fact);  // a process supersedes the same process, closed the same stream's
  void fact_done(std::uint64_t id);
  void ack(std::uint64_t number);
  void forget(const StreamId& stream);
  void drop_closed(const StreamId& stream);

  // True when a fact may be sent: closed only after the last block of its stream.
  bool deliverable(const Fact& fact) const;

 private:
  void erase_if_done(const StreamId& stream);

  std::map<StreamId, std::pair<std::uint32_t, StreamRecord>> replayed_facts_;
  std::map<std::string, std::uint64_t> process_facts_;  // key -> fact
  std::map<StreamId, std::uint64_t> closed_facts_;
  std::vector<std::uint64_t> dropped_;
  std::size_t broken_streams_ = 0;
};

// The facts part of a stream as a record.
StreamRecord facts_of(const SpooledStream& stream);
StreamPosition position_of(const StreamCheckpoint& checkpoint);

}  // namespace logarithm::agent
