// Shards whose files went away under the running program (somebody deleted or replaced them).
#include <filesystem>

#include "aggregator/store/job_store.h"
#include "common/base/logging.h"

namespace logarithm::aggregator {

// All parts are opened anew from what lies in the directory: what is there is the truth, and what
// is not there any more is told to agents as lost, so that they send it again.
Status JobStore::let_go_of_vanished(BlockingToken& token) {
  std::size_t vanished = 0;
  for (const auto& part : parts_) {
    LGR_TRY(const Shard::Place place, part->place(token));
    if (place == Shard::Place::here) continue;
    ++vanished;
    const std::string path = part_path(part->part());
    LGR_ERROR("shard went away under us path={} what={}", path,
              place == Shard::Place::no_wal ? "wal" : "database");
    if (place == Shard::Place::no_wal) {
      // What the lost WAL holds is not in the database yet: as much of it as can be is put there
      // by the one who still has it open, for whoever repairs the file.
      const Status saved = part->database().checkpoint(token);
      if (!saved.ok()) LGR_WARN("not saved error={}", saved.error().to_string());
      LGR_CHECK(quarantine(token, path));
    } else {
      // A WAL that was left behind belongs to the database that is gone; with another one it would
      // be damage.
      part->remove_left_wal(token);
    }
  }
  if (vanished == 0) return {};
  const std::vector<std::uint32_t> before = numbers();
  close_all();
  const Status opened = open_all(token);
  counters_.vanished.fetch_add(vanished);
  counters_.losses.fetch_add(1);
  LGR_CHECK(opened);
  for (const std::uint32_t part : before) {
    if (find_part(part) == nullptr) LGR_CHECK(catalogue_.remove_part(token, job_, part));
  }
  return {};
}

std::vector<std::uint32_t> JobStore::numbers() const {
  std::vector<std::uint32_t> out;
  for (const auto& part : parts_) out.push_back(part->part());
  return out;
}

void JobStore::close_all() {
  parts_.clear();
  part_count_.store(0);
  std::lock_guard lock(read_);
  reader_parts_.clear();
  readers_.clear();
  facts_.reset();
}

Status JobStore::check_files(BlockingToken& token) {
  std::lock_guard lock(write_);
  return let_go_of_vanished(token);
}

}  // namespace logarithm::aggregator
