#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "aggregator/compare/comparison.h"
#include "aggregator/http/fold_task.h"
#include "aggregator/http/one_attempt.h"

namespace logarithm::aggregator {

// What the answers about the ranks of one attempt share: all lines go into a survey, which is then
// compared. A search that goes on opens it again.
class RanksFold : public FoldAnswer {
 public:
  Result<LineSink*> open(const JobView& view, const ScanPlan&) override {
    view_ = &view;
    survey_ = std::make_unique<RankSurvey>(view, attempt_.attempt());
    comparing_.reset();
    return static_cast<LineSink*>(survey_.get());
  }

  Result<bool> finish(BlockingToken& token, JobView& view,
                      const std::function<bool()>& time_is_up) override {
    if (!comparing_) comparing_ = std::make_unique<Comparing>(*survey_, rule_, limit_);
    return comparing_->step(token, view, time_is_up);
  }

 protected:
  // Of departures the `limit` most unusual. `attempt_stated`: the plan names one.
  RanksFold(PeerRule rule, std::size_t limit, bool attempt_stated)
      : attempt_(attempt_stated), rule_(std::move(rule)), limit_(limit) {}

  OneAttempt attempt_;
  const JobView* view_ = nullptr;         // from open() on
  std::unique_ptr<RankSurvey> survey_;    // from open() on
  std::unique_ptr<Comparing> comparing_;  // from finish() on

 private:
  PeerRule rule_;
  std::size_t limit_;
};

}  // namespace logarithm::aggregator
