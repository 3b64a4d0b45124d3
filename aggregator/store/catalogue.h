#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "aggregator/store/retained.h"
#include "aggregator/store/sqlite.h"
#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

// Which jobs exist, in which parts, and which streams lie where: an index over the shards, which
// are the truth. It is filled from the shards at every open. What retention unlinked is known here
// alone: without the catalogue, agents that still have those files would send them again.
// Thread-safe.
class Catalogue {
 public:
  struct Job {
    std::int64_t id = 0;
    JobKey key;
    std::set<std::uint32_t> parts;
    std::uint32_t next_part = 0;  // no part that was ever unlinked has it, or a larger one
  };

  // A damaged catalogue is moved aside (".bad") and a new one begun.
  static Result<std::unique_ptr<Catalogue>> open(BlockingToken&, const std::string& path);

  // All are durable when they return.
  Result<Job> add_job(BlockingToken&, const JobKey& key);
  Status add_part(BlockingToken&, const Job& job, std::uint32_t part);
  Status remove_part(BlockingToken&, const Job& job, std::uint32_t part);
  Status add_streams(BlockingToken&, const Job& job, std::uint32_t part,
                     const std::vector<StreamId>& streams);

  // A part is about to be unlinked by retention: what must be remembered of it replaces it in one
  // durable transaction, merged with what is remembered already.
  Status retire_part(BlockingToken&, const Job& job, std::uint32_t part, const Retained& retained);
  Result<Retained> retained(BlockingToken&, const Job& job);
  // Forgets streams and processes of parts that were unlinked before `before`.
  Status forget_retained(BlockingToken&, UnixNanos before);

  Status add_clock_readings(BlockingToken&, const std::vector<HostClock>& readings);
  Status forget_clock_readings(BlockingToken&, UnixNanos before);
  Result<std::vector<ClockReading>> clock_history(BlockingToken&, const std::string& tenant,
                                                  const std::string& host);
  // Damage that SQLite finds in it, one text each.
  Result<std::vector<std::string>> check(BlockingToken&);

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
  Status put_retained(BlockingToken&, const Job& job, const RetainedStream& stream);
  Result<Retained> load_retained(BlockingToken&, const Job& job);

  mutable std::mutex mutex_;
  std::unique_ptr<Database> database_;
  std::map<JobKey, Job> jobs_;
};

// Renames a damaged database and its WAL to "<path>.bad…", the first free name.
Status quarantine(BlockingToken&, const std::string& path);

}  // namespace logarithm::aggregator
