#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/discover/proc_fs.h"
#include "agent/discover/process_table.h"

namespace logarithm::agent {

// Where a rank's output goes that is a pipe: whoever holds the read end (tee, a filter, a launcher)
// may have a file into which the bytes go. Only links are looked at; nothing is ever opened.
//
// Finding a reader means looking at the descriptors of many processes: relatives first, the others
// only when none of those has it, and at most once a kRetry for each pipe. File thread only.
class PipeReaders {
 public:
  // Both outlive this.
  PipeReaders(const ProcFs& fs, const ProcessTable& table) : fs_(fs), table_(table) {}

  struct Sink {
    std::string reader;          // the program's name; empty: nobody was found
    std::int32_t pid = 0;        // who holds the file
    std::optional<FdInfo> file;  // a regular file; absent when what becomes of the bytes is unknown
    bool forwarded = false;      // a launcher collects the lines of its ranks
  };
  // `link` is "pipe:[…]", held by the process `pid` and its other `members`.
  Sink find(BlockingToken&, const std::string& link, std::int32_t pid,
            const std::vector<std::int32_t>& members, UnixNanos now);

  static constexpr UnixNanos kRetry = 30'000'000'000;
  static constexpr std::size_t kMostPipes = 4096;  // remembered

 private:
  struct Reader {
    std::int32_t pid = 0;  // 0: none
    std::int32_t number = 0;
    UnixNanos checked = 0;
  };

  Reader reader_of(BlockingToken&, const std::string& link, std::int32_t pid,
                   const std::set<std::int32_t>& writers, UnixNanos now);
  std::optional<std::int32_t> read_end(BlockingToken&, std::int32_t pid,
                                       const std::string& link) const;
  std::optional<FdInfo> file_of(BlockingToken&, std::int32_t pid, const std::string& name) const;

  const ProcFs& fs_;
  const ProcessTable& table_;
  std::map<std::string, Reader> readers_;
};

}  // namespace logarithm::agent
