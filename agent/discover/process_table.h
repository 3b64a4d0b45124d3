#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/discover/exit_watch.h"
#include "agent/discover/launchers.h"
#include "agent/discover/proc_fs.h"
#include "common/model/process.h"

namespace logarithm::agent {

// One rank on this host: its top-most process and those of its descendants that live.
struct RankProcess {
  ProcessInfo info;
  bool job_stated = false;         // LOGARITHM_JOB: a `files:` entry does not override it
  std::vector<std::int32_t> pids;  // living members, the top-most first; empty after the end
  std::optional<std::int32_t> utc_offset_minutes;
  UnixNanos first_seen = 0;
  // Kept by Discovery: when its output, and when all its descriptors, are to be looked at again,
  // which members were looked at, and why an output is not captured ("stdout" -> "pipe").
  UnixNanos next_output_check = 0, next_full_check = 0;
  std::vector<std::int32_t> checked_pids;
  std::map<std::string, std::string> reasons;
  std::string visible_gpus;  // CUDA_VISIBLE_DEVICES
  std::string run_files;     // the directory of the `logarithm run` that it is; empty for none
};

// About `interval` after `now` (never later), rounded so that the checks of many processes fall
// together: each time that something is due costs a scan.
UnixNanos grid_time(UnixNanos now, UnixNanos interval);

// The processes that name a rank (or a job), with their starts and exits.
//
// A process's environment is read when it is new, again while it is young (it changes at exec, and
// no counter tells), and ever more rarely later: at most `kMaxRecheck` apart. A process and its
// descendants of the same rank are one rank; who once belonged to one stays with it when orphaned,
// so that a data loader that outlives its rank is no new process.
//
// File thread only.
class ProcessTable {
 public:
  // `fs` outlives the table. `self` is never looked at (our own pid; 0 for none).
  ProcessTable(const ProcFs& fs, std::string host, std::int32_t self);

  // The clock that gives `now` was set back: everything is due.
  void clock_went_back(UnixNanos now);
  // Looks at what is new or due. Error only when the root cannot be listed.
  Status scan(BlockingToken&, UnixNanos now);

  // A line said which rank the process `pid` has, at `at`. `speaker` is the key of the process
  // whose stream said it (its pid namespace counts), empty when there is none: then the pid is this
  // host's. Taken up by the next scan; a rank that the process's environment names stays.
  void mention(std::int32_t pid, const RankMention& mention, const std::string& speaker,
               UnixNanos at);

  // By key, the ended ones too for a while (kKeepEnded).
  std::map<std::string, RankProcess>& ranks() { return ranks_; }

  // Of a process that the last scan saw.
  std::string name_of(std::int32_t pid) const;
  bool is_launcher(std::int32_t pid) const;
  // All others, those that may have to do with it first: its ancestors, their children, the rest.
  std::vector<std::int32_t> nearest_first(std::int32_t pid) const;

  // Those whose facts changed since the last call, or whose last_seen moved by kReportAlive. Drops
  // what ended long ago.
  std::vector<ProcessInfo> take_changes(UnixNanos now);
  // All count as changed.
  void tell_again() { reported_.clear(); }

  // Cheap: has a process been made, has a watched one exited, is a recheck due?
  bool changed_hint(BlockingToken&, UnixNanos now) const;
  const ExitWatch& exits() const { return watch_; }
  // Processes whose environment could not be read for want of permission, at the last scan.
  std::size_t unreadable() const { return unreadable_; }

  static constexpr UnixNanos kMinRecheck = 100'000'000;
  static constexpr UnixNanos kMaxRecheck = 60'000'000'000;
  // How long a process waits whose parent was in no list: it ended meanwhile, and the next look
  // sees who adopted the child; or it is hidden from us.
  static constexpr UnixNanos kParentWait = 250'000'000;
  static constexpr UnixNanos kKeepEnded = 600'000'000'000;
  static constexpr UnixNanos kReportAlive = 15'000'000'000;

 private:
  struct Seen {
    ProcStat stat;
    std::optional<Identity> identity;
    std::optional<std::string> tz;
    bool launcher = false;
    bool kernel = false;
    bool unreadable = false;
    bool read = false;  // the environment, as it was at the last exec that was seen
    std::optional<RankMention> mention;
    std::string visible_gpus;
    std::string run_files;
    std::uint64_t run_began = 0;  // of the run that left it behind: its start_ticks
    bool dead = false;            // exited, though /proc may still list it
    bool below_rank = false;      // ranks or launchers are, or were, among its descendants
    std::int32_t first_parent = 0;
    std::string owner;  // key of the rank that it belongs to
    UnixNanos first_seen = 0;
    UnixNanos next_check = 0;
  };

  struct Mentioned {
    std::int32_t pid = 0;
    RankMention mention;
    std::string speaker;
    UnixNanos at = 0;
  };

  Seen* mentioned(BlockingToken&, const Mentioned& mention);
  void apply_mentions(BlockingToken&, UnixNanos now);
  bool may_be_reused(std::int32_t pid, std::int32_t newest) const;
  void examine(BlockingToken&, std::int32_t pid, UnixNanos now);
  void read_identity(BlockingToken&, Seen& seen);
  void note_exits(BlockingToken&, UnixNanos now);
  static void end(BlockingToken&, RankProcess& rank, UnixNanos now);
  void end_gone(BlockingToken&, UnixNanos now);
  void mark_ancestors_of_ranks();
  bool counts_as_rank(const Seen& seen) const;
  const Seen* find(std::int32_t pid) const;
  const Seen* top_of(const Seen& seen) const;
  std::string orphan_owner(const Seen& seen) const;
  bool is_left_behind(const Seen& seen, const Seen& top) const;
  void assign(BlockingToken&, UnixNanos now);
  RankProcess& rank_of(BlockingToken&, Seen& top, UnixNanos now);
  void fill(BlockingToken&, const Seen& top, RankProcess& rank, UnixNanos now);
  std::string key_of(const Seen& seen) const;
  UnixNanos start_of(const Seen& seen) const;
  std::string user_name(const std::string& uid);

  const ProcFs& fs_;
  std::string host_;
  std::int32_t self_;
  std::optional<BootTime> boot_;
  UnixNanos tick_;
  std::map<std::int32_t, Seen> seen_;
  std::map<std::string, RankProcess> ranks_;
  std::map<std::string, ProcessInfo> reported_;
  std::map<std::string, std::string> users_;  // uid -> name
  std::vector<Mentioned> mentions_;
  ExitWatch watch_;
  std::optional<std::int32_t> newest_;
  UnixNanos next_due_ = 0;
  std::size_t unreadable_ = 0;
};

}  // namespace logarithm::agent
