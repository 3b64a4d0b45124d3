#pragma once

#include <functional>
#include <memory>
#include <string>

#include "aggregator/http/json_text.h"
#include "aggregator/http/named.h"
#include "aggregator/http/query_runner.h"
#include "aggregator/query/fold.h"
#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

// What an endpoint makes of the lines that its filters pick: sums, not lines. Called on a worker.
class FoldAnswer {
 public:
  virtual ~FoldAnswer() = default;
  // Before open(): what it asks for beside the filters.
  virtual Status narrow(BlockingToken& token, JobView& view, ScanPlan& plan);
  // Before the first line; the sink lives as long as this.
  virtual Result<LineSink*> open(const JobView& view, const ScanPlan& plan) = 0;
  // After the last line; called again until it gives true.
  virtual Result<bool> finish(BlockingToken& token, JobView& view,
                              const std::function<bool()>& time_is_up);
  // After finish(): true to fold once more, from narrow() on with the request's plan.
  virtual bool again() { return false; }
  // The members of the answer's object, but for `completeness`.
  virtual void write(JsonWriter& out) = 0;
};

// Folds a job's lines into an answer, in turns.
class FoldTask final : public QueryTask {
 public:
  FoldTask(Storage& storage, JobKey job, Named named, ScanPlan plan,
           std::unique_ptr<FoldAnswer> answer)
      : storage_(storage),
        job_(std::move(job)),
        named_(std::move(named)),
        asked_(std::move(plan)),
        answer_(std::move(answer)) {}
  Result<bool> step(BlockingToken& token, const std::function<bool()>& time_is_up) override;

  // After the last step(): "{" and the members that the answer wrote.
  JsonWriter& out() { return out_; }
  const JobView& view() const { return *view_; }
  const Predicate& predicate() const { return asked_.predicate; }

 private:
  Storage& storage_;
  JobKey job_;
  Named named_;
  ScanPlan asked_, plan_;
  std::unique_ptr<FoldAnswer> answer_;
  std::unique_ptr<JobView> view_;
  std::unique_ptr<Fold> fold_;
  bool folded_ = false;
  JsonWriter out_;
};

}  // namespace logarithm::aggregator
