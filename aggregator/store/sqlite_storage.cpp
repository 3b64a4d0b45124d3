#include "aggregator/store/sqlite_storage.h"

#include <sys/statvfs.h>

#include <filesystem>

#include "aggregator/store/directory_listing.h"
#include "aggregator/store/job_snapshot.h"
#include "common/base/logging.h"

namespace logarithm::aggregator {
namespace fs = std::filesystem;
namespace {

std::optional<std::uint64_t> free_bytes_of(const std::string& directory) {
  struct statvfs info {};
  if (::statvfs(directory.c_str(), &info) != 0) return std::nullopt;
  return std::uint64_t{info.f_bavail} * info.f_frsize;
}

// The tenant and job that a part says it belongs to.
Result<JobKey> owner_of(BlockingToken& token, const std::string& path) {
  // Not read-only: after a crash the WAL must be recovered.
  LGR_TRY(auto database, Database::open(token, path, Database::Options{}));
  LGR_TRY(Statement tables,
          database->prepare("SELECT count(*) FROM sqlite_master WHERE name='meta'"));
  LGR_TRY(bool counted, tables.step(token));
  if (!counted || tables.integer(0) == 0) {
    return Error(ErrorCode::corrupt, path + ": names no job");
  }
  LGR_TRY(Statement rows, database->prepare("SELECT (SELECT value FROM meta WHERE key='tenant'), "
                                            "(SELECT value FROM meta WHERE key='job')"));
  LGR_TRY(bool found, rows.step(token));
  if (!found || rows.is_null(0) || rows.is_null(1)) {
    return Error(ErrorCode::corrupt, path + ": names no job");
  }
  JobKey key;
  key.tenant = rows.bytes(0);
  key.job = rows.bytes(1);
  return key;
}

}  // namespace

Result<std::unique_ptr<SqliteStorage>> SqliteStorage::open(BlockingToken& token,
                                                           SqliteStorageOptions options,
                                                           const Clock& clock) {
  std::error_code problem;
  fs::create_directories(options.data_dir, problem);
  if (problem) return errno_error(problem.value(), "create " + options.data_dir);
  if (!options.free_bytes) options.free_bytes = free_bytes_of;
  auto storage = std::unique_ptr<SqliteStorage>(new SqliteStorage(std::move(options), clock));
  const std::string path = storage->options_.data_dir + "/catalogue.db";
  auto catalogue = Catalogue::open(token, path);
  // On a disk that is full to the last byte even opening fails: the ballast makes room for it.
  if (!catalogue.ok() && storage->ballast_.drop(token)) catalogue = Catalogue::open(token, path);
  if (!catalogue.ok()) return catalogue.error();
  storage->catalogue_ = std::move(*catalogue);
  LGR_CHECK(storage->scan(token));
  storage->note_missing(token);
  storage->measure(token);
  return storage;
}

std::string SqliteStorage::directory_of(const JobKey& job) const {
  return options_.data_dir + "/" + to_text(hash_base(job.tenant)) + "/" +
         to_text(hash_base(job.job));
}

Status SqliteStorage::scan(BlockingToken& token) {
  std::error_code problem;
  LGR_TRY(auto tenants, list_directory(options_.data_dir));
  for (const auto& tenant : tenants) {
    if (!tenant.is_directory(problem)) continue;
    LGR_TRY(auto jobs, list_directory(tenant.path().string()));
    for (const auto& job : jobs) {
      if (!job.is_directory(problem)) continue;
      Status status = scan_job(token, job.path().string());
      if (!status.ok()) {
        LGR_ERROR("job cannot be served path={} error=\"{}\"", job.path().string(),
                  status.error().to_string());
      }
    }
  }
  return {};
}

Status SqliteStorage::scan_job(BlockingToken& token, const std::string& directory) {
  std::vector<std::string> files;
  LGR_TRY(auto entries, list_directory(directory));
  for (const auto& entry : entries) {
    if (entry.path().extension() == ".db") files.push_back(entry.path().string());
  }
  for (const std::string& path : files) {
    auto key = owner_of(token, path);
    if (key.ok() && directory_of(*key) != directory) {
      key = Error(ErrorCode::corrupt, path + ": belongs to another job");
    }
    // Only damage moves a shard aside: one that cannot be opened now (no space, no descriptors, no
    // permission) is whole, and is served when it can be opened.
    if (!key.ok() && key.error().code() == ErrorCode::corrupt) {
      counters_.quarantined.fetch_add(1);
      counters_.losses.fetch_add(1);
      LGR_ERROR("shard damaged, moved aside path={} error=\"{}\"", path, key.error().to_string());
      LGR_CHECK(quarantine(token, path));
      continue;
    }
    if (!key.ok()) return key.error();
    LGR_TRY(Catalogue::Job job, catalogue_->add_job(token, *key));
    // Opening registers parts and streams; it stays open only as long as others do not need room.
    LGR_TRY(auto store, open_job(token, job));
    return {};
  }
  return {};
}

void SqliteStorage::note_missing(BlockingToken& token) {
  bool lost = false;
  for (const Catalogue::Job& job : catalogue_->all()) {
    // Held, so that nobody opens the job and begins a part meanwhile.
    std::lock_guard lock(mutex_);
    if (open_.contains(job.key)) continue;
    for (const std::uint32_t part : job.parts) {
      const std::string path = directory_of(job.key) + "/part-" + std::to_string(part) + ".db";
      const auto there = identity_of(token, path);
      if (!there.ok() || there->has_value()) continue;
      // One that was moved aside as damaged is counted and told already.
      std::error_code unknown;
      if (!fs::exists(path + ".bad", unknown)) {
        LGR_ERROR("shard is gone path={} job={}", path, job.key.job);
        counters_.vanished.fetch_add(1);
        lost = true;
      }
      const Status removed = catalogue_->remove_part(token, job, part);
      if (!removed.ok()) LGR_WARN("catalogue error={}", removed.error().to_string());
    }
  }
  if (lost) counters_.losses.fetch_add(1);
}

Result<std::shared_ptr<JobStore>> SqliteStorage::open_job(BlockingToken& token,
                                                          const Catalogue::Job& job) {
  std::vector<std::shared_ptr<JobStore>> closing;  // destroyed after the lock
  std::lock_guard lock(mutex_);
  if (auto known = open_.find(job.key); known != open_.end()) {
    used_.splice(used_.begin(), used_, known->second.used);
    return known->second.store;
  }
  LGR_TRY(auto store, JobStore::open(token, *catalogue_, job, directory_of(job.key), options_.jobs,
                                     clock_, counters_));
  // A store that somebody works with is not closed: two writers of one shard must never exist.
  for (auto last = used_.end(); open_.size() >= options_.max_open_jobs && last != used_.begin();) {
    --last;
    const auto candidate = open_.find(*last);
    if (candidate->second.store.use_count() > 1) continue;
    closing.push_back(std::move(candidate->second.store));
    open_.erase(candidate);
    last = used_.erase(last);
  }
  used_.push_front(job.key);
  Open open;
  open.store = store;
  open.used = used_.begin();
  open_.emplace(job.key, std::move(open));
  std::uint64_t shards = 0;
  for (const auto& [key, other] : open_) shards += other.store->parts();
  open_shards_.store(shards);
  return store;
}

Result<std::shared_ptr<JobStore>> SqliteStorage::existing(BlockingToken& token, const JobKey& job) {
  LGR_TRY(Catalogue::Job known, catalogue_->find(job));
  // Nothing is left of it: opening it would begin a part.
  if (known.parts.empty()) return Error(ErrorCode::not_found, "no job \"" + job.job + "\"");
  return open_job(token, known);
}

bool SqliteStorage::nearly_full() {
  const auto free = options_.free_bytes(options_.data_dir);
  const std::uint64_t reserve = min_free_bytes_.load();
  const bool full = free && *free < reserve;
  if (full != full_.exchange(full)) {
    if (full) {
      LGR_ERROR("disk nearly full, blocks are refused free={} reserve={}", *free, reserve);
    } else {
      LGR_INFO("disk has room again, blocks are taken");
    }
  }
  return full;
}

Result<std::vector<StoredGeneration>> SqliteStorage::stored(BlockingToken& token, const JobKey& job,
                                                            StreamBase base) {
  auto known = catalogue_->find(job);
  if (!known.ok()) return std::vector<StoredGeneration>();
  if (known->parts.empty()) {
    LGR_TRY(const Retained retained, catalogue_->retained(token, *known));
    std::vector<StoredGeneration> generations;
    for (const auto& [id, stream] : retained.streams) {
      if (id.base == base) generations.push_back(as_generation(stream));
    }
    return generations;
  }
  LGR_TRY(auto store, open_job(token, *known));
  return store->stored(token, base);
}

Result<std::vector<IngestOutcome>> SqliteStorage::apply(BlockingToken& token, const JobKey& job,
                                                        const std::vector<IngestItem>& items) {
  const bool full = nearly_full();
  LGR_TRY(Catalogue::Job known, catalogue_->add_job(token, job));
  LGR_TRY(auto store, open_job(token, known));
  auto outcomes = store->apply(token, items, full);
  const bool no_space = !outcomes.ok() && outcomes.error().code() == ErrorCode::no_space;
  if (no_space != write_failed_full_.exchange(no_space)) {
    if (no_space) {
      LGR_ERROR("disk full, nothing can be stored error=\"{}\"", outcomes.error().message());
    } else {
      LGR_INFO("disk has room again, blocks are stored");
    }
  }
  if (full || no_space) counters_.no_space.fetch_add(1);
  return outcomes;
}

Result<bool> SqliteStorage::maintain(BlockingToken& token) {
  std::vector<std::shared_ptr<JobStore>> stores;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [key, open] : open_) stores.push_back(open.store);
  }
  bool more = false;
  std::optional<Error> failed;
  for (const auto& store : stores) {
    auto again = store->maintain(token);
    if (again.ok()) {
      more = more || *again;
    } else {
      failed = again.error();
    }
  }
  stores.clear();
  note_missing(token);
  nearly_full();  // so that status and log say it also while nobody writes
  if (auto again = retain(token); again.ok()) {
    more = more || *again;
  } else {
    failed = again.error().with_context("retention");
  }
  measure(token);
  // One job's trouble keeps no other from being sealed, but the caller is told.
  if (failed) return *failed;
  return more;
}

Result<std::vector<JobKey>> SqliteStorage::jobs(BlockingToken&, const std::string& tenant) {
  return catalogue_->jobs(tenant);
}

Result<JobSummary> SqliteStorage::summary(BlockingToken& token, const JobKey& job) {
  LGR_TRY(auto store, existing(token, job));
  LGR_TRY(JobStore::View view, store->view(token));
  JobSummary summary = summarise(job.job, *view.facts, clock_.wall_now());
  for (std::size_t i = 0; i < view.readers.size(); ++i) {
    view.pools[i]->give_back(std::move(view.readers[i]));
  }
  return summary;
}

Result<std::shared_ptr<JobSnapshot>> SqliteStorage::snapshot(BlockingToken& token,
                                                             const JobKey& job) {
  LGR_TRY(auto store, existing(token, job));
  LGR_TRY(JobStore::View view, store->view(token));
  return std::shared_ptr<JobSnapshot>(std::make_shared<SqliteSnapshot>(std::move(view)));
}

Result<JobKey> SqliteStorage::job_of(BlockingToken& token, const std::string& tenant,
                                     StreamId stream) {
  LGR_TRY(auto jobs, catalogue_->jobs_of(token, tenant, stream));
  if (jobs.empty()) return Error(ErrorCode::not_found, "no stream " + to_text(stream));
  return jobs.front();
}

Status SqliteStorage::add_clock_readings(BlockingToken& token,
                                         const std::vector<HostClock>& readings) {
  return catalogue_->add_clock_readings(token, readings);
}

Result<std::vector<ClockReading>> SqliteStorage::clock_history(BlockingToken& token,
                                                               const std::string& tenant,
                                                               const std::string& host) {
  return catalogue_->clock_history(token, tenant, host);
}

void SqliteStorage::set_limits(const StorageLimits& limits) {
  min_free_bytes_.store(limits.min_free_bytes);
  {
    std::lock_guard lock(retention_mutex_);
    retention_ = limits.retention;
  }
  std::lock_guard lock(mutex_);
  options_.jobs.max_part_bytes = limits.max_part_bytes;
  options_.jobs.max_part_age = limits.max_part_age;
  for (const auto& [key, open] : open_) {
    open.store->set_part_limits(limits.max_part_bytes, limits.max_part_age);
  }
}

void SqliteStorage::measure(BlockingToken&) {
  StorageStats stats;
  std::error_code problem;
  auto entries = list_directory(options_.data_dir, true);
  if (!entries.ok()) return;  // the last measurement stays
  for (const auto& entry : *entries) {
    const auto size = entry.is_regular_file(problem) ? entry.file_size(problem) : 0;
    if (problem) continue;  // went away meanwhile
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".db") && name.starts_with("part-")) ++stats.shards;
    if (name.ends_with("-wal")) stats.wal_bytes += size;
    stats.disk_bytes += size;
  }
  {
    std::lock_guard lock(mutex_);
    for (const auto& [key, open] : open_) stats.inbox_blocks += open.store->inbox_blocks();
  }
  std::lock_guard lock(measured_mutex_);
  measured_ = stats;
}

StorageStats SqliteStorage::stats() const {
  StorageStats stats;
  {
    std::lock_guard lock(measured_mutex_);
    stats = measured_;
  }
  stats.open_shards = open_shards_.load();
  stats.blocks = counters_.blocks.load();
  stats.lines = counters_.lines.load();
  stats.bytes = counters_.bytes.load();
  stats.quarantined = counters_.quarantined.load();
  stats.vanished = counters_.vanished.load();
  stats.retired = counters_.retired.load();
  stats.retired_bytes = counters_.retired_bytes.load();
  stats.free_bytes = options_.free_bytes(options_.data_dir);
  stats.read_only = full_.load() || write_failed_full_.load();
  return stats;
}

}  // namespace logarithm::aggregator
