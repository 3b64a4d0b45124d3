#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "aggregator/store/sqlite.h"
#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

// Which jobs exist, in which parts, and which streams lie where: an index over the shards, which
// are the truth. It can be deleted; it is filled from the shards at every open. Thread-safe.
class Catalogue {
 public:
  struct Job {
    std::int64_t id = 0;
    JobKey key;
    std::set<std::uint32_t> parts;
  };

  // A damaged catalogue is moved aside (".bad") and a new one begun.
  static Result<std::unique_ptr<Catalogue>> open(BlockingToken&, const std::string& path);

  // All are durable when they return.
  Result<Job> add_job(BlockingToken&, const JobKey& key);
  Status add_part(BlockingToken&, const Job& job, std::uint32_t part);
  Status remove_part(BlockingToken&, const Job& job, std::uint32_t part);
  Status add_streams(BlockingToken&, const Job& job, std::uint32_t part,
                     const std::vector<StreamId>& streams);

  std::vector<JobKey> jobs(const std::string& tenant) const;
  std::vector<Job> all() const;
  // Error{not_found} for an unknown job.
  Result<Job> find(const JobKey& key) const;
  // The jobs of a tenant that hold a stream (one, unless somebody renamed a job).
  Result<std::vector<JobKey>> jobs_of(BlockingToken&, const std::string& tenant,
                                      const StreamId& stream);

 private:
  explicit Catalogue(std::unique_ptr<Database> database) : database_(std::move(database)) {}
  Status load(BlockingToken&);

  mutable std::mutex mutex_;
  std::unique_ptr<Database> database_;
  std::map<JobKey, Job> jobs_;
};

// Renames a damaged database and its WAL to "<path>.bad…", the first free name.
Status quarantine(BlockingToken&, const std::string& path);

}  // namespace logarithm::aggregator
