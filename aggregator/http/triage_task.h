#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "aggregator/http/json_text.h"
#include "aggregator/http/query_runner.h"
#include "aggregator/triage/gather.h"
#include "aggregator/triage/verdict.h"

namespace logarithm::aggregator {

// Gathers the facts of an attempt and decides, in turns.
class TriageTask final : public QueryTask {
 public:
  TriageTask(Storage& storage, JobKey job, triage::SurveyCache& cache,
             triage::GatherOptions options)
      : storage_(storage), job_(std::move(job)), cache_(cache), options_(options) {}
  Result<bool> step(BlockingToken& token, const std::function<bool()>& time_is_up) override;

  // After the last step(): the answer without its completeness and the last brace.
  JsonWriter& out() { return out_; }
  // CPU time that all steps took.
  std::chrono::nanoseconds cpu() const { return cpu_; }
  const JobView& view() const { return *view_; }

 private:
  Result<bool> work(BlockingToken& token, const std::function<bool()>& time_is_up);

  Storage& storage_;
  JobKey job_;
  triage::SurveyCache& cache_;
  triage::GatherOptions options_;
  std::unique_ptr<JobView> view_, host_view_;
  std::unique_ptr<triage::Gatherer> gatherer_;
  JsonWriter out_;
  std::chrono::nanoseconds cpu_{0};
};

// The members of the answer, as contract.md names them.
void write_verdict(JsonWriter& out, const triage::Facts& facts, const triage::Verdict& verdict);

}  // namespace logarithm::aggregator
