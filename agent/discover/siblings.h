#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/discover/directory_cache.h"
#include "agent/discover/proc_fs.h"

namespace logarithm::agent {

// A file that a rank's process writes.
struct RankFile {
  std::string path;
  std::string stream;  // "stdout" or "stderr"
  std::vector<std::string> aliases;
  std::string job;
  std::int32_t rank = 0;
  std::optional<std::int32_t> local_rank, world_size, attempt, utc_offset_minutes;
  UnixNanos start = 0;  // of the process
};

// A file of the same shape that no living process of ours wrote.
struct Sibling {
  std::string path;
  ProcFileFacts facts;
  std::optional<std::int32_t> rank, local_rank;  // the one that the name counts
  RankFile of;                                   // a known rank's file of the family
};

// Where in `file.path` its rank (else its local rank) stands, as the shipped path shapes see it:
// the path with '#' for the digits.
struct FamilyName {
  std::string family;
  bool local = false;
  bool operator==(const FamilyName&) const = default;
};
std::optional<FamilyName> family_name(const RankFile& file);

// Files of ranks that died before a scan could see them: beside out-0.log and out-2.log, written
// by ranks 0 and 2, out-1.log is rank 1's, if it was written since the job started. A file is
// claimed only kSettle after it was first noticed, because its process may just be starting.
//
// File thread only.
class Siblings {
 public:
  // `known` are the files of living ranks. Returns what is claimed now, in order of paths; the
  // caller drops what it has from elsewhere.
  std::vector<Sibling> find(BlockingToken&, DirectoryCache&, const std::vector<RankFile>& known,
                            UnixNanos now);
  // The clock that gives `now` was set back.
  void clock_went_back(UnixNanos now);
  // When find() may claim more without anything else having changed; INT64_MAX when never.
  UnixNanos next_due() const { return next_due_; }

  static constexpr UnixNanos kSettle = 3'000'000'000;
  // How long before the job's first known start a sibling may have been written last: the rank that
  // died may have been the first to start.
  static constexpr UnixNanos kSlack = 2'000'000'000;
  // How long a family is watched after its last rank ended.
  static constexpr UnixNanos kLinger = 60'000'000'000;

 private:
  struct Family {
    RankFile of;
    bool local = false;
    UnixNanos job_start = 0;
    UnixNanos last_alive = 0;
    std::set<std::int32_t> known;
    std::map<std::string, UnixNanos> noticed;
  };
  void look(BlockingToken&, DirectoryCache&, const std::string& name, Family& family, UnixNanos now,
            std::vector<Sibling>& out);

  std::map<std::string, Family> families_;  // by job + family name
  UnixNanos next_due_ = INT64_MAX;
};

}  // namespace logarithm::agent
