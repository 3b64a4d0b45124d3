#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/discover/path_shapes.h"
#include "agent/discover/proc_fs.h"
#include "agent/discover/process_table.h"
#include "agent/ports/follow_target.h"

namespace logarithm::agent {

// A file, whatever its names are.
struct FileId {
  std::uint64_t device = 0, inode = 0;
  auto operator<=>(const FileId&) const = default;
};
inline FileId id_of(const ProcFileFacts& facts) {
  return {.device = facts.device, .inode = facts.inode};
}

// How a process came to hold a file.
enum class Descriptor { standard_output, standard_error, other };

// Every file that is, or should be, followed, with all that is known about it from its names, the
// configuration and its writers; and the target that follows from that. A file that is known by
// several names is one.
//
// A file stays as long as its path leads to it (kForgetQuiet after the end of its writers it must
// have grown meanwhile) or a writer lives. File thread only.
class FileRegistry {
 public:
  explicit FileRegistry(std::string host) : host_(std::move(host)) {}

  // Starts a scan: what is configured must be added again, what processes write is kept.
  void begin();

  // A file that the configuration or import names. `relative` is import's name of it.
  struct Configured {
    std::string path;
    bool link = false;
    ProcFileFacts facts;
    PathAttributes attributes;
    std::string job;       // stated in the configuration; empty: whoever writes it knows
    std::string relative;  // not empty for imported files
    std::optional<std::int32_t> utc_offset_minutes;
    std::string open_path;  // not empty: no path leads to it any more, this does
  };
  void add_configured(const Configured& file);

  // `rank` has it open, or writes into a pipe from which it is filled. `open_path` is the link
  // below the proc root. `forwarded`: by a program that forwards the lines of many ranks.
  void add_writer(const RankProcess& rank, Descriptor descriptor, const FdInfo& fd,
                  const std::string& open_path, bool forwarded = false);

  // A file that a rank wrote which no scan has seen, unless it is known already.
  struct Orphan {
    std::string path;
    ProcFileFacts facts;
    std::string job, stream;
    std::vector<std::string> aliases;
    std::optional<std::int32_t> attempt, rank, local_rank, utc_offset_minutes;
  };
  void add_orphan(const Orphan& orphan);

  bool contains(const FileId& id) const { return files_.contains(id); }

  // Ends a scan: brings writers up to date, forgets what is gone.
  void end(BlockingToken&, const std::map<std::string, RankProcess>& ranks, UnixNanos now);

  // In the order in which the files were first seen.
  std::vector<FollowTarget> targets() const;

  static constexpr UnixNanos kForgetQuiet = 3'600'000'000'000;

 private:
  struct Writer {
    ProcessInfo info;  // as of the last scan
    std::optional<std::int32_t> utc_offset_minutes;
    bool output = false, error = false, job_stated = false, forwarded = false;
  };
  struct File {
    std::uint64_t order = 0;
    std::vector<std::string> paths;  // the first is the one to show
    bool first_is_link = false;
    std::string open_path;  // when no path leads to it
    std::optional<Configured> configured;
    std::optional<Orphan> orphan;
    std::map<std::string, Writer> writers;  // by process key; only one attempt's
    UnixNanos checked = 0, last_write = 0;
  };

  static bool is_of_earlier_run(const ProcessInfo& old, const ProcessInfo& now);
  File& file(const ProcFileFacts& facts);
  static void add_path(File& file, const std::string& path, bool link);
  bool keep(BlockingToken&, const FileId& id, File& file, UnixNanos now) const;
  FollowTarget target_of(const File& file) const;
  static void set_name(const File& file, const PathAttributes& shape, FollowTarget& out);

  std::string host_;
  std::map<FileId, File> files_;
  std::uint64_t next_order_ = 0;
};

}  // namespace logarithm::agent
