#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/follow/dir_watcher.h"
#include "agent/follow/ending_stream.h"
#include "agent/follow/follow_stats.h"
#include "agent/follow/open_writers.h"
#include "agent/follow/refill.h"
#include "agent/follow/source_fs.h"
#include "agent/follow/stream_writer.h"
#include "agent/follow/tailed_file.h"
#include "agent/follow/write_counter.h"
#include "agent/ports/follow_target.h"
#include "agent/ports/stream_log.h"
#include "common/base/clock.h"
#include "common/base/result.h"

namespace logarithm::agent {

struct FollowOptions {
  std::string tenant = "default";
  bool once = false;                         // read to the end, close, be finished()
  std::size_t read_bytes = 256u << 10;       // of one file, before the next has its turn
  std::size_t read_lines = 4096;             // … fewer bytes where lines are short
  std::size_t step_bytes = 4u << 20;         // of one step
  std::chrono::milliseconds step_time{100};  // … and how long it reads: others wait for its end
  std::size_t block_bytes = 256u << 10;      // raw bytes after which a block is cut
  // … or this long after the one before; the first line after a quiet time leaves at once.
  std::chrono::milliseconds block_age{50};
  std::chrono::milliseconds small_age{800};     // the same for small blocks, where there are many
  std::chrono::milliseconds idle_flush{1000};   // an unfinished line leaves after this
  std::chrono::milliseconds exit_wait{1000};    // quiet time after the writer's exit
  std::chrono::milliseconds scan_wait{2000};    // bytes after the writer's exit wait for a scan
  std::chrono::milliseconds rotate_wait{5000};  // quiet time before a vanished file is given up
  std::chrono::milliseconds copy_wait{2000};    // a possible copytruncate copy is not read for this
  std::chrono::milliseconds poll{1000};         // look at everything this often, woken or not
  std::chrono::milliseconds poll_unwatched{200};         // … when something cannot be watched
  std::uint64_t deleted_bytes = std::uint64_t{1} << 30;  // unread bytes of one deleted file
  // … and how long they may stay unread, or open because somebody may still write them.
  std::chrono::minutes deleted_age{60};
  std::chrono::hours forget_after{24};
  std::size_t max_open = 1024;
  bool inotify = true;
  std::string proc_root = "/proc";
};

struct StepReport {
  bool more = false;  // work is left over: call again at once
  // Otherwise call after `wait`, or at once when wake_fd() became readable. Writes do not wake
  // (each would); they are found in the next turn: 50 ms is a good longest wait.
  std::chrono::milliseconds wait{0};
  std::uint64_t bytes = 0;  // read in this step
};

// Files -> lines -> blocks -> StreamLog, for all targets. Level-triggered: every decision compares
// what fstat and stat say now with what was read, so a missed event delays and never loses.
//
// One thread: the agent's file thread. All collaborators outlive it. step() is one bounded turn;
// nothing else reads files. A full log (Error{no_space}) pauses reading: the files are the buffer.
class Follower {
 public:
  Follower(FollowOptions options, SourceFs& fs, const RuleSet& rules, StreamLog& log,
           StreamOracle& oracle, Clock& clock);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // The whole list, as discovery sees it now. Files that are no longer named are read to their end,
  // waited for (rotate_wait) and closed.
  void set_targets(std::vector<FollowTarget> targets);
  // Other rules, from the next line on that was not emitted; they outlive the follower, or the next
  // set_rules(). What was told stays as it was.
  void set_rules(const RuleSet& rules);
  // The process (ProcessInfo::key()) has exited: its streams close when they are read and quiet.
  void process_exited(const std::string& process_key);
  // Bytes wait for a set_targets() that says who wrote them: scan soon, whatever changed.
  bool wants_scan() const { return wants_scan_; }

  // One turn. An error is one of the log (not no_space, which pauses): calling again tries again.
  Result<StepReport> step(BlockingToken& token);
  // Readable when a file was created beside a followed one: a rotation may be under way, and a turn
  // within a millisecond saves what is written during a copytruncate. -1 when there is none.
  int wake_fd() const { return watcher_.wake_fd(); }
  // `once` only: every target was read to its end and closed.
  bool finished() const;
  // Stop: one last read of everything, unfinished lines stay in the files, blocks go to the log.
  Status drain(BlockingToken& token);

  // True once after the aggregator was found to have lost stored data: facts that were told (of
  // processes) must be told again.
  bool take_store_lost() { return std::exchange(store_lost_, false); }

  // Size and spooled offset of every stream that is followed.
  std::vector<wire::StreamLag> lag() const;
  const FollowStats& stats() const { return stats_; }
  // What lines read since the last call said of processes (`maps: process`).
  std::vector<MappedProcess> take_mapped() { return std::exchange(mapped_, {}); }
  // Files that wait unread for the aggregator's answer or for the decision about a copy.
  std::size_t waiting() const;

 private:
  struct Tail;
  struct Target;
  using Names = std::vector<std::string>;

  // follower.cpp
  Result<StepReport> turn(BlockingToken& token, bool look_at_all);
  void update_watches();
  std::chrono::milliseconds wait_time(MonotonicTime now) const;
  Status swallow_no_space(Status status);

  // follower_targets.cpp: which file is which
  void look_at_targets(BlockingToken& token, bool all);
  void look_at_target(BlockingToken& token, Target& target);
  void bind(Target& target, Tail* tail);
  Tail* find_or_make(BlockingToken& token, const std::string& path, const FollowTarget* target,
                     const std::string& host);
  StreamAttributes wanted_attributes(const Tail& tail) const;
  StreamContext context_of(const Tail& tail, const StreamAttributes& attributes) const;
  Status update_attributes(BlockingToken& token, Tail& tail);
  void adopt_orphans(BlockingToken& token);
  void note_path(BlockingToken& token, Tail& tail);

  // follower_resolve.cpp: where to go on
  Status resolve(BlockingToken& token, Tail& tail);
  Status resume_known(BlockingToken& token, Tail& tail);
  Status resume_stored(BlockingToken& token, Tail& tail, const wire::StreamState& state);
  Status start_generation(BlockingToken& token, Tail& tail);
  bool must_ask(const Tail& tail) const;
  enum class CopyState { no, wait };
  CopyState copy_state(BlockingToken& token, Tail& tail);
  // After state loss: `no` when it is certain that no original's stored generation is in this file.
  enum class StoredCopy { no, wait, taken };
  StoredCopy stored_copy(BlockingToken& token, Tail& tail);
  std::vector<Tail*> originals_of(const Tail& tail);
  bool copy_of_ended(BlockingToken& token, Tail& tail, const StreamBase& original);
  void end_generation(BlockingToken& token, Tail& tail);
  void add_ending(std::unique_ptr<StreamWriter> writer, StreamContext context, EndingFacts facts,
                  std::vector<CopyCheck> candidates);
  void end_unwatched(BlockingToken& token, const StreamCheckpoint& checkpoint,
                     const std::string& reason, const FileFacts* now_there);
  std::vector<CopyCheck> copy_candidates(BlockingToken& token, const StreamWriter& writer,
                                         const std::set<std::string>& paths);
  void take_copy(const StreamBase& copy);
  void remember(const StreamCheckpoint& checkpoint);
  const StreamCheckpoint* newest_known(const StreamBase& base) const;

  // follower_closely.cpp: a rotation may be under way
  struct Closely {
    MonotonicTime until, longest;
    std::string copy;             // the name that was created beside it
    std::uint64_t copy_size = 0;  // as of the last look
  };
  void note_rotations(BlockingToken& token, const std::vector<std::string>& created);
  Status read_closely(BlockingToken& token, StepReport& report);
  void wait_for_write(BlockingToken& token, std::chrono::milliseconds longest);
  void count_writes();
  void settle_counts();
  bool goes_on(BlockingToken& token, Closely& closely, const Tail* tail);
  void count_ahead(BlockingToken& token);
  void start_counting(BlockingToken& token, Tail& tail);
  void stop_counting(Tail& tail);
  std::optional<std::uint64_t> unexplained_lines(BlockingToken& token, Tail& tail);
  std::optional<std::uint64_t> lost_lines(BlockingToken& token, Tail& tail);

  // follower_read.cpp: reading
  std::size_t read_size(const Tail& tail) const;
  Status read_one(BlockingToken& token, Tail& tail, StepReport& report);
  bool has_living_writer(const FollowTarget& target) const;
  bool waits_for_scan(BlockingToken& token, Tail& tail);
  void look_for_data(BlockingToken& token, EndingStream& ending);
  Status run_endings(BlockingToken& token, StepReport& report);
  Status read_round(BlockingToken& token, StepReport& report);
  // follower_refill.cpp: what the aggregator lost
  void audit();
  void ask_stored(const StreamBase& base);
  void drop_question(const Audit::Question& question);
  bool compared(const Audit::Question& question);
  bool audited() const;
  Status run_refills(BlockingToken& token, StepReport& report);
  Result<bool> refill_some(BlockingToken& token, Refill& refill, StepReport& report);
  Result<std::unique_ptr<SourceFile>> find_source(BlockingToken& token,
                                                  const StreamCheckpoint& stream, const Tail* tail);
  std::optional<StreamCheckpoint> checkpoint_of(const StreamId& stream) const;

  // follower_awake.cpp: which files are looked at, and when slow ones
  void look_at_awake_directories();
  void begin_round();
  void end_round();
  void share_small_blocks();

  // follower_settle.cpp: closing and bounds
  bool may_drop(const Tail& tail) const;
  Status settle(BlockingToken& token, Tail& tail);
  Status close_tail(BlockingToken& token, Tail& tail, const std::string& reason);
  std::optional<std::string> reason_to_close(const Tail& tail);
  bool is_held(const Tail& tail);
  Status commit_all(BlockingToken& token, bool only_due);
  void limit_open_files();
  Status forget_old(BlockingToken& token);

  FollowOptions options_;
  SourceFs& fs_;
  StreamLog& log_;
  StreamOracle& oracle_;
  Clock& clock_;
  FollowStats stats_;
  LongLinePool pool_;
  std::vector<MappedProcess> mapped_;
  WriterParts parts_;
  DirWatcher watcher_;

  std::vector<std::unique_ptr<Target>> targets_;
  std::unordered_multimap<std::string, Target*> targets_by_path_;
  struct Directory {
    std::vector<Target*> targets;
    MonotonicTime arm_at{};  // not before
  };
  std::map<std::string, Directory> directories_;
  std::map<StreamBase, std::unique_ptr<Tail>> tails_;
  std::deque<std::unique_ptr<EndingStream>> endings_;
  std::map<StreamBase, std::map<std::uint32_t, StreamCheckpoint>>
      known_;  // not live: newest of each
  Audit audit_;
  std::deque<std::unique_ptr<Refill>> refills_;
  bool store_lost_ = false;
  bool resumed_ = false;  // there were checkpoints of an earlier run
  std::set<StreamBase> copies_;
  std::set<std::string> exited_;
  std::vector<char> buffer_;
  MonotonicTime now_, next_poll_, retry_at_, orphans_at_, next_forget_;
  UnixNanos wall_ = 0;
  bool targets_known_ = false, targets_changed_ = false, orphans_done_ = false;
  bool all_watched_ = true, stalled_ = false, wants_scan_ = false, draining_ = false;
  std::uint64_t scans_ = 0;  // calls of set_targets()
  std::uint64_t turn_ = 0;
  std::map<StreamBase, Closely> closely_;  // perhaps being copied
  MonotonicTime next_rates_{};
  MonotonicTime look_at_slow_{};    // not before
  bool looks_at_slow_ = false;      // … in this turn
  MonotonicTime count_ahead_at_{};  // not before
  WriteCounter writes_;
  OpenWriters open_writers_;
  std::unordered_map<std::string, StreamBase> counted_;  // of the files whose writes are counted
};

}  // namespace logarithm::agent
