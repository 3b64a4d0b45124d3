#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "aggregator/compare/sides.h"
#include "aggregator/http/json_text.h"
#include "aggregator/http/named.h"
#include "aggregator/http/query_runner.h"
#include "aggregator/query/fold.h"
#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

// Compares a run with another attempt, or with a run of another job.
class AgainstTask final : public QueryTask {
 public:
  struct Side {
    JobKey job;
    ScanPlan plan;
    Named named;                          // both must have it
    std::optional<std::int32_t> attempt;  // absent: the newest
  };
  AgainstTask(Storage& storage, std::array<Side, 2> sides, std::size_t limit)
      : storage_(storage), sides_(std::move(sides)), limit_(limit) {}
  Result<bool> step(BlockingToken& token, const std::function<bool()>& time_is_up) override;

  // After the last step(): "{" and the members.
  JsonWriter& out() { return out_; }
  const JobView& view() const { return *open_[0].view; }
  const Predicate& predicate() const { return open_[0].predicate; }

 private:
  struct Open {
    std::unique_ptr<JobView> view;
    std::unique_ptr<RankSurvey> survey;
    std::unique_ptr<Fold> fold;
    Predicate predicate;
    bool folded = false;
  };
  Status open(BlockingToken& token, std::size_t side);
  void write();

  Storage& storage_;
  std::array<Side, 2> sides_;
  std::size_t limit_;
  std::array<Open, 2> open_;
  std::unique_ptr<ComparingSides> comparing_;
  JsonWriter out_;
};

}  // namespace logarithm::aggregator
