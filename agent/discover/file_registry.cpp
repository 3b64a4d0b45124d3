#include "agent/discover/file_registry.h"

#include <algorithm>
#include <set>

#include "agent/discover/text.h"

namespace logarithm::agent {
namespace {

constexpr UnixNanos kCheckInterval = 1'000'000'000;
constexpr std::size_t kMaxPaths = 16;

}  // namespace

FileRegistry::File& FileRegistry::file(const ProcFileFacts& facts) {
  const auto [at, is_new] = files_.try_emplace(id_of(facts));
  if (is_new) at->second.order = next_order_++;
  at->second.last_write = std::max(at->second.last_write, facts.modified);
  return at->second;
}

void FileRegistry::add_path(File& file, const std::string& path, bool link) {
  const auto known = std::find(file.paths.begin(), file.paths.end(), path);
  if (known != file.paths.end()) return;
  if (file.paths.size() >= kMaxPaths) return;
  if (file.paths.empty() || (file.first_is_link && !link)) {
    file.paths.insert(file.paths.begin(), path);
    file.first_is_link = link;
  } else {
    file.paths.push_back(path);
  }
}

void FileRegistry::begin() {
  for (auto& [id, file] : files_) file.configured.reset();
}

void FileRegistry::add_configured(const Configured& found) {
  File& entry = file(found.facts);
  add_path(entry, found.path, found.link);
  if (!found.open_path.empty()) entry.open_path = found.open_path;
  // Two globs, or two names: the first that was configured decides.
  if (!entry.configured || (entry.configured->link && !found.link)) entry.configured = found;
}

void FileRegistry::add_writer(const RankProcess& rank, Descriptor descriptor, const FdInfo& fd,
                              const std::string& open_path, bool forwarded) {
  File& entry = file(fd.file);
  if (!fd.deleted) {
    // It is the name that the kernel gives it now: a rotation renames it.
    std::erase(entry.paths, fd.link);
    entry.paths.insert(entry.paths.begin(), fd.link);
    entry.first_is_link = false;
    entry.open_path.clear();
  } else {
    if (entry.paths.empty()) entry.paths.push_back(fd.link);
    if (entry.open_path.empty() || descriptor == Descriptor::standard_output) {
      entry.open_path = open_path;
    }
  }
  std::erase_if(entry.writers, [&](const auto& writer) {
    return is_of_earlier_run(writer.second.info, rank.info);
  });
  Writer& writer = entry.writers[rank.info.key()];
  writer.info = rank.info;
  writer.utc_offset_minutes = rank.utc_offset_minutes;
  writer.job_stated = rank.job_stated;
  writer.forwarded = forwarded;
  writer.output = writer.output || descriptor == Descriptor::standard_output;
  writer.error = writer.error || descriptor == Descriptor::standard_error;
  entry.orphan.reset();
}

// An ended writer that had ended before `now` started, or whose rank or restart counter says so: a
// relaunch may begin while the last of the old ones are dying.
bool FileRegistry::is_of_earlier_run(const ProcessInfo& old, const ProcessInfo& now) {
  if (!old.exit || old.key() == now.key()) return false;
  if (*old.exit - old.exit_error <= now.start + now.start_error) return true;
  const bool relaunched = old.rank && old.rank == now.rank;
  return old.start < now.start && (relaunched || old.restart_count != now.restart_count);
}

void FileRegistry::add_orphan(const Orphan& orphan) {
  if (contains(id_of(orphan.facts))) return;
  File& entry = file(orphan.facts);
  add_path(entry, orphan.path, false);
  entry.orphan = orphan;
}

bool FileRegistry::keep(BlockingToken& token, const FileId& id, File& file, UnixNanos now) const {
  if (file.configured) return true;
  const bool written = std::any_of(file.writers.begin(), file.writers.end(),
                                   [](const auto& entry) { return !entry.second.info.exit; });
  if (now >= file.checked && now - file.checked < kCheckInterval) return true;
  file.checked = now;
  // Names that lead elsewhere by now are no names of it.
  std::optional<ProcFileFacts> facts;
  std::vector<std::string> paths;
  for (const std::string& path : file.paths) {
    const auto there = regular_file(token, path);
    if (!there || id_of(*there) != id) continue;
    facts = there;
    paths.push_back(path);
  }
  if (facts) {
    file.paths = std::move(paths);
    file.last_write = std::max(file.last_write, facts->modified);
  }
  if (written) return true;
  if (!facts) return false;
  UnixNanos quiet_since = file.last_write;
  for (const auto& [key, writer] : file.writers) {
    quiet_since = std::max(quiet_since, writer.info.last_seen);
  }
  return now - quiet_since < kForgetQuiet;
}

void FileRegistry::end(BlockingToken& token, const std::map<std::string, RankProcess>& ranks,
                       UnixNanos now) {
  for (auto at = files_.begin(); at != files_.end();) {
    for (auto& [key, writer] : at->second.writers) {
      const auto rank = ranks.find(key);
      if (rank != ranks.end()) writer.info = rank->second.info;
    }
    at = keep(token, at->first, at->second, now) ? std::next(at) : files_.erase(at);
  }
}

std::vector<FollowTarget> FileRegistry::targets() const {
  std::vector<const File*> ordered;
  ordered.reserve(files_.size());
  for (const auto& [id, file] : files_) ordered.push_back(&file);
  std::sort(ordered.begin(), ordered.end(),
            [](const File* a, const File* b) { return a->order < b->order; });
  std::vector<FollowTarget> out;
  out.reserve(ordered.size());
  for (const File* file : ordered) out.push_back(target_of(*file));
  return out;
}

void FileRegistry::set_name(const File& file, const PathAttributes& shape, FollowTarget& out) {
  bool output = false;
  bool error = false;
  for (const auto& [key, writer] : file.writers) {
    output = output || writer.output;
    error = error || writer.error;
  }
  if (output) {
    out.name = "stdout";
    if (error) out.aliases.emplace_back("stderr");
  } else if (error) {
    out.name = "stderr";
  } else if (file.orphan) {
    out.name = file.orphan->stream;
    out.aliases = file.orphan->aliases;
  } else {
    out.name = shape.stream;
  }
  if (out.name.empty()) {
    out.name = clean_text(out.import_base.empty() ? out.path : out.import_base);
  }
  for (std::size_t i = 1; i < file.paths.size(); ++i) {
    out.aliases.push_back(clean_text(file.paths[i]));
  }
}

FollowTarget FileRegistry::target_of(const File& file) const {
  FollowTarget out;
  out.path = file.paths.front();
  out.open_path = file.open_path.empty() ? out.path : file.open_path;
  out.host = host_;
  PathAttributes shape;
  std::string stated_job;
  if (file.configured) {
    shape = file.configured->attributes;
    stated_job = file.configured->job;
    out.import_base = file.configured->relative;
    out.utc_offset_minutes = file.configured->utc_offset_minutes;
    // Who imports a file need not be the host that wrote it.
    if (!out.import_base.empty() || !shape.host.empty()) out.host = shape.host;
  }
  out.slurm_step = shape.slurm_step;
  out.attempt = shape.attempt;
  out.labels = shape.labels;
  out.rank = shape.rank;
  out.local_rank = shape.local_rank;
  if (out.rank) out.rank_source = "path";
  if (file.orphan) {
    out.job = file.orphan->job;
    out.attempt = file.orphan->attempt;
    out.rank = file.orphan->rank;
    out.local_rank = file.orphan->local_rank;
    out.rank_source = out.rank ? "path" : "";
    out.utc_offset_minutes = file.orphan->utc_offset_minutes;
  }

  const Writer* newest = nullptr;
  std::set<std::optional<std::int32_t>> ranks;
  bool forwarded = false;
  for (const auto& [key, writer] : file.writers) {
    ranks.insert(writer.info.rank);
    if (writer.info.identity.contains("SLURM_PROCID")) out.slurm_step = true;
    forwarded = forwarded || writer.forwarded;
    if (newest == nullptr || writer.info.start > newest->info.start) newest = &writer;
  }
  if (newest != nullptr) {
    out.host = host_;
    out.job = newest->info.job;
    out.utc_offset_minutes = newest->utc_offset_minutes;
    if (newest->info.stated_attempt) out.attempt = newest->info.stated_attempt;
    out.shared = forwarded || ranks.size() > 1;
    if (out.shared) {
      for (const auto& [key, writer] : file.writers) out.holders.push_back(key);
      std::stable_sort(out.holders.begin(), out.holders.end(), [&](const auto& a, const auto& b) {
        return file.writers.at(a).info.start < file.writers.at(b).info.start;
      });
      out.rank.reset();
      out.local_rank.reset();
      out.rank_source.clear();
    } else {
      out.process = newest->info.key();
      if (newest->info.rank) {
        out.rank = newest->info.rank;
        out.local_rank = newest->info.local_rank;
        out.rank_source = newest->info.rank_source;
      }
    }
  }
  if (!stated_job.empty() && (newest == nullptr || !newest->job_stated)) out.job = stated_job;
  if (out.job.empty()) out.job = shape.job;
  if (out.job.empty()) out.job = "_host";
  set_name(file, shape, out);
  return out;
}

}  // namespace logarithm::agent
