#include "agent/discover/pipe_readers.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace logarithm::agent {
namespace {

constexpr std::size_t kMostDescriptors = 1024;  // looked at per process
constexpr int kMostFilters = 4;                 // `job | grep -v noise | ts | tee log`

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Programs that write what they read into files of their own, and those that write it to their
// standard output. Of any other program nobody knows what it makes of the bytes.
bool is_recorder(std::string_view name) {
  return is_one_of(name,
                   {"tee", "rotatelogs", "cronolog", "multilog", "svlogd", "s6-log", "conmon"});
}
bool is_filter(std::string_view name) {
  return is_one_of(name, {"tee", "cat", "grep", "egrep", "fgrep", "sed", "awk", "gawk", "mawk",
                          "ts", "tr", "pv", "nl", "cut", "unbuffer"});
}

bool is_file(const FdInfo& fd) { return fd.kind == FdKind::regular && fd.writable; }

}  // namespace

std::optional<std::int32_t> PipeReaders::read_end(BlockingToken& token, std::int32_t pid,
                                                  const std::string& link) const {
  for (const ProcFs::Link& one : fs_.links(token, pid, kMostDescriptors)) {
    if (one.to != link) continue;
    const FdInfo fd = fs_.fd(token, pid, one.number);
    const bool only_reads = fd.readable && !fd.writable;
    if (one.number == STDIN_FILENO || only_reads) return one.number;
  }
  return std::nullopt;
}

PipeReaders::Reader PipeReaders::reader_of(BlockingToken& token, const std::string& link,
                                           std::int32_t pid, const std::set<std::int32_t>& writers,
                                           UnixNanos now) {
  const auto known = readers_.find(link);
  if (known != readers_.end()) {
    const Reader& reader = known->second;
    const bool still = reader.pid != 0 && fs_.fd(token, reader.pid, reader.number).link == link;
    const bool recent = now >= reader.checked && now - reader.checked < kRetry;
    if (still || (reader.pid == 0 && recent)) return reader;
  }
  if (readers_.size() >= kMostPipes) readers_.clear();
  Reader& reader = readers_[link] = Reader{.pid = 0, .number = 0, .checked = now};
  for (const std::int32_t candidate : table_.nearest_first(pid)) {
    if (writers.contains(candidate)) continue;
    const auto number = read_end(token, candidate, link);
    if (!number) continue;
    reader.pid = candidate;
    reader.number = *number;
    break;
  }
  return reader;
}

std::optional<FdInfo> PipeReaders::file_of(BlockingToken& token, std::int32_t pid,
                                           const std::string& name) const {
  if (is_recorder(name)) {
    for (const std::int32_t number : fs_.fds(token, pid, kMostDescriptors)) {
      if (number <= STDERR_FILENO) continue;
      FdInfo fd = fs_.fd(token, pid, number);
      if (is_file(fd)) return fd;
    }
  }
  if (!is_filter(name) && !table_.is_launcher(pid)) return std::nullopt;
  FdInfo fd = fs_.fd(token, pid, STDOUT_FILENO);
  if (is_file(fd)) return fd;
  return std::nullopt;
}

PipeReaders::Sink PipeReaders::find(BlockingToken& token, const std::string& link, std::int32_t pid,
                                    const std::vector<std::int32_t>& members, UnixNanos now) {
  Sink out;
  std::set<std::int32_t> writers(members.begin(), members.end());
  std::string at = link;
  for (int step = 0; step < kMostFilters; ++step) {
    const Reader reader = reader_of(token, at, pid, writers, now);
    if (reader.pid == 0) return out;
    out.pid = reader.pid;
    out.reader = table_.name_of(reader.pid);
    out.forwarded = out.forwarded || table_.is_launcher(reader.pid);
    out.file = file_of(token, reader.pid, out.reader);
    if (out.file) return out;
    const FdInfo next = fs_.fd(token, reader.pid, STDOUT_FILENO);
    const bool passes_on = is_filter(out.reader) || table_.is_launcher(reader.pid);
    if (!passes_on || next.kind != FdKind::pipe || next.link == at) return out;
    at = next.link;
    pid = reader.pid;
    writers = {reader.pid};
  }
  return out;
}

}  // namespace logarithm::agent
