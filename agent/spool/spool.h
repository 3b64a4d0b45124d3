#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "agent/ports/stream_log.h"
#include "agent/spool/dead_letter.h"
#include "agent/spool/recovery.h"
#include "agent/spool/spool_index.h"
#include "common/base/clock.h"
#include "common/io/file_system.h"

namespace logarithm::agent {

struct SpoolOptions {
  std::string directory;                          // the state directory
  std::uint64_t max_bytes = 1ull << 30;           // all segments together
  std::uint64_t segment_bytes = 8ull << 20;       // a segment is ended past this
  std::uint64_t min_free = 64ull << 20;           // left free on the disk for others
  std::uint64_t dead_letter_bytes = 16ull << 20;  // cap of dead_letter.ndjson
  std::chrono::milliseconds sync_interval{100};   // a power cut loses at most this
};

// How far one connection is. Made new for every connection; travels to the file thread and back.
struct SpoolCursor {
  std::uint64_t block = 0;                   // newest block number given
  std::uint64_t info_revision = 0;           // newest stream revision given
  std::uint64_t facts_revision = 0;          // of the last look at the facts
  std::unordered_set<std::uint64_t> facts;   // given
  std::unordered_set<TemplateId> templates;  // given
};

// A block as the wire needs it.
struct SpooledBlock {
  std::uint64_t number = 0;
  wire::Block block;
  std::vector<TemplateDef> templates;  // those the cursor's connection does not have
};

// What there is to send, in sending order: infos, then blocks (templates before each), then facts.
struct SpoolBatch {
  SpoolCursor cursor;
  std::vector<wire::StreamInfo> infos;
  std::vector<SpooledBlock> blocks;
  std::vector<Fact> facts;
  bool more = false;  // it ends at a bound: call again
  bool empty() const { return infos.empty() && blocks.empty() && facts.empty(); }
};

// Counters; read from any thread.
struct SpoolStats {
  std::atomic<std::uint64_t> bytes{0}, segments{0}, streams{0}, unacked_blocks{0};
  std::atomic<std::uint64_t> appended_blocks{0}, appended_bytes{0}, acked_blocks{0};
  std::atomic<std::uint64_t> full{0};            // appends refused for want of space
  std::atomic<std::uint64_t> write_errors{0};    // failed writes and syncs
  std::atomic<std::uint64_t> lost_blocks{0};     // unreadable when they were to be sent
  std::atomic<std::uint64_t> revived_blocks{0};  // acked, lost by the aggregator, sent again
  std::atomic<std::uint64_t> dead_letters{0}, dead_letters_dropped{0};
};

// Blocks on disk until the aggregator has them: append-only segments (README.md has the format and
// the crash table). Guarantees: what append() returned for survives a kill of the process; what was
// appended `sync_interval` before a power cut survives that too; a block, the position it leads to
// and the parser's state survive together or not at all. A segment is removed only when every block
// in it is acked and a later segment holds the snapshot of all streams.
//
// File thread only, but for stats().
class Spool final : public StreamLog {
 public:
  // Takes the directory's lock (Error{conflict} when another agent has it) and recovers. Damaged
  // content is never an error; see report().
  static Result<std::unique_ptr<Spool>> open(BlockingToken&, SpoolOptions options,
                                             FileSystem& files, Clock& clock);
  ~Spool() override = default;

  // --- StreamLog
  std::vector<StreamCheckpoint> recovered() const override;
  Status append(BlockingToken&, const StreamCheckpoint& checkpoint,
                const EncodedBlock* block) override;
  Status append_gap(BlockingToken&, const StreamCheckpoint& checkpoint, const Gap& gap) override;
  KeptStream kept(const StreamId& stream) const override;
  Result<bool> revive(BlockingToken&, const StreamCheckpoint& checkpoint, std::vector<Range>& lost,
                      std::uint64_t& next) override;
  Status append_processes(BlockingToken&, const std::vector<ProcessInfo>& processes) override;
  bool acknowledged(const StreamId& stream, std::uint64_t offset) const override;
  // Error{conflict} while blocks of the stream are not acked.
  Status forget(BlockingToken&, const StreamId& stream) override;
  UnixNanos created_at() const override { return created_at_; }

  // --- the uplink's side
  // What comes after the cursor: blocks of together about `max_bytes` (at least one unless it is
  // 0).
  SpoolBatch next(BlockingToken&, SpoolCursor cursor, std::size_t max_bytes);
  // One block again, with every template it needs. Error{not_found}: it is acked.
  Result<SpooledBlock> read(BlockingToken&, std::uint64_t number);
  // All attribute versions that are kept of a stream.
  std::vector<wire::StreamInfo> infos(const StreamId& stream) const;
  // The aggregator has them. Durable lazily: a lost ack is only sent again.
  void ack(BlockingToken&, const std::vector<std::uint64_t>& blocks);
  void facts_done(BlockingToken&, const std::vector<std::uint64_t>& facts);
  // The aggregator will never take this block, or this part of it: dead letter, and a gap `refused`
  // in its place. A part that is not its end leaves the block waiting.
  void refused(BlockingToken&, std::uint64_t number, const wire::Refuse& refuse);
  // Neither block nor fact is waiting.
  bool drained() const { return index_.blocks.empty() && index_.facts.empty(); }
  std::uint64_t revision() const { return index_.revision; }

  // Syncs what is due and writes lazy acks; call every 100 ms or so.
  void tick(BlockingToken&);
  // Writes and syncs everything; before the end.
  Status close(BlockingToken&);
  // Other limits, at run time. What is kept already stays, also above a smaller cap.
  void set_limits(std::uint64_t max_bytes, std::uint64_t segment_bytes, std::uint64_t min_free);
  // Called on the file thread when there is something new to send.
  void on_change(std::function<void()> listener) { listener_ = std::move(listener); }

  const RecoveryReport& report() const { return report_; }
  const SpoolStats& stats() const { return stats_; }

 private:
  Spool(SpoolOptions options, FileSystem& files, Clock& clock);

  Status write(BlockingToken&, const StreamCheckpoint& checkpoint, const EncodedBlock* block,
               const Gap* gap);
  Status write_facts(BlockingToken&, std::vector<Fact> facts);
  Status make_room(BlockingToken&, std::size_t bytes);
  Status roll(BlockingToken&);
  std::string snapshot(std::uint64_t sequence) const;
  Status put(BlockingToken&, std::string_view records);
  Status flush_lazy(BlockingToken&);
  Status sync_current(BlockingToken&);
  void trim(BlockingToken&);
  void changed();
  void update_stats();
  Segment& current() { return index_.segments.at(current_sequence_); }
  bool has_current() const { return file_ != nullptr; }

  Result<AppendRecord> read_append(BlockingToken&, std::uint64_t segment, std::uint64_t offset,
                                   std::uint64_t length, std::string& bytes);
  Result<std::vector<TemplateDef>> definitions(BlockingToken&, const Segment& segment,
                                               const AppendRecord& record,
                                               const std::unordered_set<TemplateId>& have);
  Result<SpooledBlock> load(BlockingToken&, std::uint64_t number, const SpooledEntry& entry,
                            const std::unordered_set<TemplateId>& have);
  void give_infos(SpoolBatch& batch) const;
  void give_facts(SpoolBatch& batch) const;
  void lose(BlockingToken&, std::uint64_t number, const Error& why);

  SpoolOptions options_;
  FileSystem& files_;
  Clock& clock_;
  DeadLetter dead_letter_;
  std::unique_ptr<File> lock_;
  UnixNanos created_at_ = 0;
  RecoveryReport report_;
  SpoolIndex index_;
  SpoolStats stats_;
  std::function<void()> listener_;

  std::unique_ptr<File> file_;  // the segment being written; none before the first append
  std::uint64_t current_sequence_ = 0;
  std::uint64_t snapshot_bytes_ = 0;
  bool failed_ = false;     // the file's end is not what we think: go on in a new segment
  bool dirty_ = false;      // not synced
  bool sync_soon_ = false;  // … and it is more than acks, which are only told again when lost
  MonotonicTime last_sync_{};
  std::uint64_t free_ = 0;  // bytes of the file system, as of the last time it was asked
  MonotonicTime ask_free_at_{};
  std::vector<std::uint64_t> lazy_acks_, lazy_facts_;
  std::vector<std::uint64_t> dropped_;  // in old segments, not to be sent after a restart either

  std::unique_ptr<File> read_file_;
  std::uint64_t read_sequence_ = 0;
};

}  // namespace logarithm::agent
