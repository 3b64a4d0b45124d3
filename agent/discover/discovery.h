#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/discover/compressed_files.h"
#include "agent/discover/directory_cache.h"
#include "agent/discover/file_registry.h"
#include "agent/discover/fresh_files.h"
#include "agent/discover/glob.h"
#include "agent/discover/gpus.h"
#include "agent/discover/path_shapes.h"
#include "agent/discover/pipe_readers.h"
#include "agent/discover/proc_fs.h"
#include "agent/discover/process_table.h"
#include "agent/discover/siblings.h"
#include "agent/ports/follow_target.h"
#include "agent/ports/mapped_process.h"

namespace logarithm::agent {

// --files and import: files that nobody writes any more.
struct ImportOptions {
  std::string job = {};
  std::vector<std::string> roots = {};  // directories (read recursively) and files
  std::string path = {};                // user's RE2 on the path, or empty: the shipped shapes
  std::string tz = {};                  // zone of times that name none, or empty: unknown
};

struct DiscoveryOptions {
  std::string proc_root = "/proc";
  std::string host;
  bool processes = true;  // false: only what is configured and imported
  std::vector<FilePattern> files;
  std::optional<ImportOptions> import;
  std::vector<std::string> exclude;  // directories of ours (state, spool): never followed
  // Names and addresses of this host, beside `host`: lines that place processes name one of them.
  std::vector<std::string> own_names;
};

// Finds who writes logs and which files hold them. See README.md for the rules.
//
//   every 100 ms: if (discovery.changed_hint(token, now)) follow(discovery.scan(token, now));
//
// File thread only, but for exit_fds().
class Discovery {
 public:
  // Error{invalid} for a `path` expression that does not compile.
  static Result<std::unique_ptr<Discovery>> make(DiscoveryOptions options);

  // Takes other settings at run time; what is known of processes and files stays. After an Error (a
  // `path` expression that does not compile) nothing has changed.
  Status reconfigure(bool processes, std::vector<FilePattern> files);

  // What there is to follow now. Error only when the proc root cannot be read; then the last result
  // stays valid and the next call tries again.
  Result<Discovered> scan(BlockingToken&, UnixNanos now);

  // True when scan() may find something new: a process was made or has exited, a directory that is
  // watched changed, or a recheck is due. Costs a few system calls.
  bool changed_hint(BlockingToken&, UnixNanos now);

  // A line of a rule with `maps: process` said, at `at`, which rank a process has: see
  // ProcessTable::mention(). Lines about other hosts are ignored.
  void map_process(const MappedProcess& mapped, UnixNanos at);

  // The next scan gives all processes that are known, not only what changed.
  void tell_again() { table_.tell_again(); }
  // pidfds: readable when a process of interest has exited. Changes with every scan().
  std::vector<int> exit_fds() const { return table_.exits().fds(); }

  // Per glob and import root; what is above is reported as not captured ("too many files").
  static constexpr std::size_t kMaxFiles = 20'000;
  // A scan is due this long after the last one in any case.
  static constexpr UnixNanos kMaxPause = 10'000'000'000;

 private:
  struct Pattern {
    FilePattern entry;
    std::optional<UserPathRegex> regex;
  };

  explicit Discovery(DiscoveryOptions options);
  static Result<Pattern> compile(FilePattern entry);
  static Result<std::vector<Pattern>> compile_all(const std::vector<FilePattern>& entries);
  // Whose files are followed: none when processes are not looked for.
  const std::map<std::string, RankProcess>& ranks();

  void exclude_own_files();
  bool is_excluded(const std::string& path, const ProcFileFacts& facts) const;
  PathAttributes attributes_of(const Pattern& pattern, const std::string& path) const;
  const Pattern* pattern_for(const std::string& path) const;

  void walk_configured(BlockingToken&, UnixNanos now);
  void take_walk(BlockingToken&, const Walk& walk, const Pattern& pattern,
                 const std::string& import_root, UnixNanos now);
  bool is_too_fresh(BlockingToken&, const FoundFile& found, UnixNanos now);
  void inspect_left_behind(BlockingToken&, RankProcess& rank);
  void inspect(BlockingToken&, RankProcess& rank, UnixNanos now);
  void inspect_output(BlockingToken&, RankProcess& rank, std::int32_t number, UnixNanos now);
  bool follow_pipe(BlockingToken&, RankProcess& rank, std::int32_t number, const FdInfo& pipe,
                   UnixNanos now);
  void inspect_others(BlockingToken&, RankProcess& rank);
  void find_siblings(BlockingToken&, UnixNanos now);
  void leave_out(const std::string& path, const std::string& reason, const std::string& job);
  std::vector<wire::NotCaptured> list_not_captured();

  DiscoveryOptions options_;
  ProcFs fs_;
  ProcessTable table_;
  PipeReaders pipes_;
  DirectoryCache directories_;
  Siblings siblings_;
  FileRegistry files_;
  GpuTable gpus_;
  std::vector<Pattern> patterns_;
  std::optional<Pattern> import_;
  std::set<FileId> own_files_;
  CompressedFiles compressed_;
  FreshFiles fresh_;
  std::map<std::string, wire::NotCaptured> left_out_;  // by path, of this scan
  UnixNanos last_scan_ = 0, next_check_ = 0;
};

}  // namespace logarithm::agent
