#include <unistd.h>

#include <algorithm>

#include "agent/discover/discovery.h"
#include "agent/discover/text.h"

// What a rank writes to, as its descriptors say.
namespace logarithm::agent {
namespace {

constexpr std::size_t kMaxDescriptors = 4096;  // looked at per process
constexpr std::size_t kMaxMembers = 16;        // whose output is looked at, per rank
constexpr UnixNanos kMaxOutputCheck = 5'000'000'000;
constexpr UnixNanos kMaxFullCheck = 30'000'000'000;

UnixNanos check_after(const RankProcess& rank, UnixNanos now, UnixNanos longest) {
  return grid_time(now,
                   std::clamp((now - rank.first_seen) / 2, ProcessTable::kMinRecheck, longest));
}

}  // namespace

// An output that is a pipe: the file into which its reader puts the bytes, if it has one.
bool Discovery::follow_pipe(BlockingToken& token, RankProcess& rank, std::int32_t number,
                            const FdInfo& pipe, UnixNanos now) {
  const std::string name = number == STDOUT_FILENO ? "stdout" : "stderr";
  const PipeReaders::Sink sink = pipes_.find(token, pipe.link, rank.info.pid, rank.pids, now);
  rank.reasons[name] = sink.reader.empty() ? "pipe" : "pipe, read by " + clean_text(sink.reader);
  rank.info.not_captured[name] = clean_text(pipe.link);
  if (!sink.file) return false;
  const std::string path = fs_.fd_path(sink.pid, sink.file->number);
  if (is_excluded(sink.file->link, sink.file->file) || is_denied(path)) return false;
  files_.add_writer(
      rank, number == STDOUT_FILENO ? Descriptor::standard_output : Descriptor::standard_error,
      *sink.file, path, sink.forwarded);
  return true;
}

void Discovery::inspect_output(BlockingToken& token, RankProcess& rank, std::int32_t number,
                               UnixNanos now) {
  const bool is_output = number == STDOUT_FILENO;
  const std::string name = is_output ? "stdout" : "stderr";
  bool captured = false;
  for (std::size_t i = 0; i < std::min(rank.pids.size(), kMaxMembers); ++i) {
    const std::int32_t pid = rank.pids[i];
    const FdInfo fd = fs_.fd(token, pid, number);
    const bool own = fd.kind == FdKind::regular && is_excluded(fd.link, fd.file);
    if (fd.kind == FdKind::regular && !own) {
      const std::string path = fs_.fd_path(pid, number);
      files_.add_writer(rank, is_output ? Descriptor::standard_output : Descriptor::standard_error,
                        fd, path);
      if (is_denied(path)) {
        rank.reasons[name] = "permission denied";
        rank.info.not_captured[name] = clean_text(fd.link);
        return;
      }
      captured = true;
    } else if (i == 0 && fd.kind == FdKind::pipe) {
      captured = follow_pipe(token, rank, number, fd, now);
    } else if (i == 0) {
      rank.reasons[name] = own ? "the agent's own file" : std::string(to_string(fd.kind));
      rank.info.not_captured[name] = fd.link.empty() ? "closed" : clean_text(fd.link);
    }
  }
  if (captured) {
    rank.reasons.erase(name);
    rank.info.not_captured.erase(name);
  }
}

// GPUs, and other files that it writes and the configuration names.
void Discovery::inspect_others(BlockingToken& token, RankProcess& rank) {
  std::map<std::int32_t, Gpu> gpus;
  const std::int32_t pid = rank.info.pid;
  for (const std::int32_t number : fs_.fds(token, pid, kMaxDescriptors)) {
    const FdInfo fd = fs_.fd(token, pid, number);
    if (const auto index = nvidia_index(fd.link)) {
      gpus.emplace(*index, gpus_.describe(token, fs_, *index));
    }
    if (fd.kind != FdKind::regular || !fd.writable || is_excluded(fd.link, fd.file)) continue;
    const Pattern* pattern = pattern_for(fd.link);
    if (pattern == nullptr) continue;
    std::string job = pattern->entry.job;
    if (job.empty() && pattern->regex) job = attributes_of(*pattern, fd.link).job;
    if (!job.empty() && !rank.job_stated) rank.info.job = job;
    if (number > STDERR_FILENO) {
      files_.add_writer(rank, Descriptor::other, fd, fs_.fd_path(pid, number));
    }
  }
  std::vector<Gpu> held;
  for (auto& [index, gpu] : gpus) held.push_back(std::move(gpu));
  rank.info.gpus = own_gpus(std::move(held), rank.visible_gpus, rank.info.local_rank);
}

// The rank ended before its outputs were looked at; a process that it left behind holds them still.
void Discovery::inspect_left_behind(BlockingToken& token, RankProcess& rank) {
  if (rank.checked_pids == rank.pids) return;
  rank.checked_pids = rank.pids;
  for (std::size_t i = 0; i < std::min(rank.pids.size(), kMaxMembers); ++i) {
    for (const std::int32_t number : {STDOUT_FILENO, STDERR_FILENO}) {
      const FdInfo fd = fs_.fd(token, rank.pids[i], number);
      // A file that is known has its writers: perhaps those of the next run by now.
      if (fd.kind != FdKind::regular || files_.contains(id_of(fd.file))) continue;
      if (is_excluded(fd.link, fd.file)) continue;
      files_.add_writer(
          rank, number == STDOUT_FILENO ? Descriptor::standard_output : Descriptor::standard_error,
          fd, fs_.fd_path(rank.pids[i], number));
    }
  }
}

void Discovery::inspect(BlockingToken& token, RankProcess& rank, UnixNanos now) {
  if (rank.pids.empty()) return;
  if (rank.info.exit) return inspect_left_behind(token, rank);
  if (now >= rank.next_full_check) {
    inspect_others(token, rank);
    rank.next_full_check = check_after(rank, now, kMaxFullCheck);
  }
  if (now >= rank.next_output_check || rank.checked_pids != rank.pids) {
    rank.reasons.clear();
    rank.info.not_captured.clear();
    inspect_output(token, rank, STDOUT_FILENO, now);
    inspect_output(token, rank, STDERR_FILENO, now);
    rank.checked_pids = rank.pids;
    rank.next_output_check = check_after(rank, now, kMaxOutputCheck);
  }
  next_check_ = std::min({next_check_, rank.next_full_check, rank.next_output_check});
}

}  // namespace logarithm::agent
