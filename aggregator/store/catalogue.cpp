#include "aggregator/store/catalogue.h"

#include <filesystem>
#include <system_error>

#include "aggregator/store/schema.h"
#include "common/base/logging.h"

namespace logarithm::aggregator {

Status quarantine(BlockingToken&, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code problem;
  std::string target = path + ".bad";
  for (int n = 2; fs::exists(target, problem); ++n) target = path + ".bad" + std::to_string(n);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    if (!fs::exists(path + suffix, problem)) continue;
    fs::rename(path + suffix, target + suffix, problem);
    if (problem) return errno_error(problem.value(), "rename " + path + suffix);
  }
  return {};
}

Result<std::unique_ptr<Catalogue>> Catalogue::open(BlockingToken& token, const std::string& path) {
  for (bool again = false;; again = true) {
    auto database = Database::open(token, path, Database::Options{});
    Status status;
    if (database.ok()) {
      status = migrate_catalogue(token, **database);
      if (status.ok()) {
        auto catalogue = std::unique_ptr<Catalogue>(new Catalogue(std::move(*database)));
        status = catalogue->load(token);
        if (status.ok()) return catalogue;
      }
    } else {
      status = database.error();
    }
    if (again || status.error().code() != ErrorCode::corrupt) return status.error();
    LGR_ERROR("catalogue damaged, rebuilding it from the shards error=\"{}\"",
              status.error().to_string());
    database = Error(ErrorCode::corrupt, "closed");
    LGR_CHECK(quarantine(token, path));
  }
}

Status Catalogue::load(BlockingToken& token) {
  LGR_TRY(Statement rows,
          database_->prepare("SELECT j.id, j.tenant, j.job, p.part, j.next_part FROM jobs j "
                             "LEFT JOIN parts p ON p.job=j.id"));
  for (;;) {
    LGR_TRY(bool more, rows.step(token));
    if (!more) return {};
    JobKey key;
    key.tenant = rows.bytes(1);
    key.job = rows.bytes(2);
    Job& job = jobs_[key];
    job.id = rows.integer(0);
    job.key = key;
    job.next_part = rows.u32(4);
    if (!rows.is_null(3)) job.parts.insert(rows.u32(3));
  }
}

Result<Catalogue::Job> Catalogue::add_job(BlockingToken& token, const JobKey& key) {
  std::lock_guard lock(mutex_);
  if (auto known = jobs_.find(key); known != jobs_.end()) return known->second;
  LGR_CHECK(
      database_->run(token, "INSERT INTO jobs(tenant, job) VALUES(?, ?)", key.tenant, key.job));
  Job job;
  job.id = database_->last_rowid();
  job.key = key;
  jobs_[key] = job;
  return job;
}

Status Catalogue::add_part(BlockingToken& token, const Job& job, std::uint32_t part) {
  std::lock_guard lock(mutex_);
  if (jobs_[job.key].parts.contains(part)) return {};
  LGR_CHECK(database_->run(
      token, "INSERT OR IGNORE INTO parts(job, part, state) VALUES(?, ?, 'open')", job.id, part));
  jobs_[job.key].parts.insert(part);
  return {};
}

Status Catalogue::remove_part(BlockingToken& token, const Job& job, std::uint32_t part) {
  std::lock_guard lock(mutex_);
  LGR_TRY(Transaction transaction, Transaction::begin(token, *database_));
  LGR_CHECK(database_->run(token, "DELETE FROM parts WHERE job=? AND part=?", job.id, part));
  LGR_CHECK(database_->run(token, "DELETE FROM streams WHERE job=? AND part=?", job.id, part));
  LGR_CHECK(transaction.commit());
  jobs_[job.key].parts.erase(part);
  return {};
}

Status Catalogue::add_streams(BlockingToken& token, const Job& job, std::uint32_t part,
                              const std::vector<StreamId>& streams) {
  if (streams.empty()) return {};
  std::lock_guard lock(mutex_);
  LGR_TRY(Transaction transaction, Transaction::begin(token, *database_));
  for (const StreamId& stream : streams) {
    LGR_CHECK(
        database_->run(token,
                       "INSERT OR IGNORE INTO streams(job, base_hi, base_lo, generation, part) "
                       "VALUES(?, ?, ?, ?, ?)",
                       job.id, stream.base.hi, stream.base.lo, stream.generation, part));
  }
  return transaction.commit();
}

std::vector<JobKey> Catalogue::jobs(const std::string& tenant) const {
  std::lock_guard lock(mutex_);
  std::vector<JobKey> result;
  for (const auto& [key, job] : jobs_) {
    if (key.tenant == tenant && !job.parts.empty()) result.push_back(key);
  }
  return result;
}

std::vector<Catalogue::Job> Catalogue::all() const {
  std::lock_guard lock(mutex_);
  std::vector<Job> result;
  for (const auto& [key, job] : jobs_) result.push_back(job);
  return result;
}

Result<Catalogue::Job> Catalogue::find(const JobKey& key) const {
  std::lock_guard lock(mutex_);
  const auto known = jobs_.find(key);
  if (known == jobs_.end()) return Error(ErrorCode::not_found, "no job \"" + key.job + "\"");
  return known->second;
}

Result<std::vector<JobKey>> Catalogue::jobs_of(BlockingToken& token, const std::string& tenant,
                                               const StreamId& stream) {
  std::lock_guard lock(mutex_);
  LGR_TRY(Statement rows,
          database_->prepare("SELECT DISTINCT j.job FROM streams s JOIN jobs j ON j.id=s.job WHERE "
                             "s.base_hi=? AND s.base_lo=? AND s.generation=? AND j.tenant=?"));
  rows.bind_all(stream.base.hi, stream.base.lo, stream.generation, tenant);
  std::vector<JobKey> result;
  for (;;) {
    LGR_TRY(bool more, rows.step(token));
    if (!more) return result;
    JobKey key;
    key.tenant = tenant;
    key.job = rows.bytes(0);
    result.push_back(std::move(key));
  }
}

}  // namespace logarithm::aggregator
