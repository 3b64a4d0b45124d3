#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/store/storage.h"
#include "tests/support/fake_job.h"

namespace logarithm::test {

// Jobs in memory behind the storage's interface, for reading only.
class FakeStorage final : public aggregator::Storage {
 public:
  using JobKey = aggregator::JobKey;

  std::shared_ptr<FakeJob> add(const std::string& job) {
    auto out = std::make_shared<FakeJob>();
    jobs_[JobKey{"default", job}] = out;
    return out;
  }

  void put(const std::string& job, std::shared_ptr<FakeJob> made) {
    jobs_[JobKey{"default", job}] = std::move(made);
  }

  Result<std::vector<StoredGeneration>> stored(BlockingToken&, const JobKey&, StreamBase) override {
    return std::vector<StoredGeneration>{};
  }
  Result<std::vector<aggregator::IngestOutcome>> apply(
      BlockingToken&, const JobKey&, const std::vector<aggregator::IngestItem>&) override {
    return Error(ErrorCode::unavailable, "this storage only reads");
  }
  Result<bool> maintain(BlockingToken&) override { return false; }
  std::uint64_t losses() const override { return 0; }
  Status add_clock_readings(BlockingToken&,
                            const std::vector<aggregator::HostClock>& readings) override {
    for (const aggregator::HostClock& one : readings) {
      clocks_[{one.tenant, one.host}].push_back(one.reading);
    }
    return {};
  }
  Result<std::vector<aggregator::ClockReading>> clock_history(BlockingToken&,
                                                              const std::string& tenant,
                                                              const std::string& host) override {
    return clocks_[{tenant, host}];
  }
  Result<std::vector<JobKey>> jobs(BlockingToken&, const std::string& tenant) override {
    std::vector<JobKey> out;
    for (const auto& [key, job] : jobs_) {
      if (key.tenant == tenant) out.push_back(key);
    }
    return out;
  }
  Result<aggregator::JobSummary> summary(BlockingToken&, const JobKey& key) override {
    auto found = jobs_.find(key);
    if (found == jobs_.end()) return Error(ErrorCode::not_found, "no such job");
    aggregator::JobSummary out;
    out.job = key.job;
    for (const auto& facts : found->second->streams()) out.lines += facts.lines;
    out.ranks = {0, 1, 2, 5};
    return out;
  }
  Result<std::shared_ptr<aggregator::JobSnapshot>> snapshot(BlockingToken&,
                                                            const JobKey& key) override {
    auto found = jobs_.find(key);
    if (found == jobs_.end()) return Error(ErrorCode::not_found, "no such job");
    return std::shared_ptr<aggregator::JobSnapshot>(found->second);
  }
  Result<JobKey> job_of(BlockingToken&, const std::string& tenant, StreamId stream) override {
    for (const auto& [key, job] : jobs_) {
      for (const auto& facts : job->streams()) {
        if (key.tenant == tenant && facts.id == stream) return key;
      }
    }
    return Error(ErrorCode::not_found, "no such stream");
  }
  aggregator::StorageStats stats() const override { return {}; }

 private:
  std::map<JobKey, std::shared_ptr<FakeJob>> jobs_;
  std::map<std::pair<std::string, std::string>, std::vector<aggregator::ClockReading>> clocks_;
};

}  // namespace logarithm::test
