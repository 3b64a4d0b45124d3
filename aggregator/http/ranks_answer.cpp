#include "aggregator/http/ranks_answer.h"

#include <utility>

#include "aggregator/http/compare_views.h"
#include "aggregator/http/one_attempt.h"

namespace logarithm::aggregator {
namespace {

class RanksAnswer final : public FoldAnswer {
 public:
  RanksAnswer(PeerRule rule, std::size_t limit, bool attempt_stated)
      : rule_(std::move(rule)), limit_(limit), attempt_(attempt_stated) {}

  Status narrow(BlockingToken&, JobView& view, ScanPlan& plan) override {
    attempt_.choose(view, plan);
    return {};
  }

  Result<LineSink*> open(const JobView& view, const ScanPlan&) override {
    view_ = &view;
    survey_ = std::make_unique<RankSurvey>(view, attempt_.attempt());
    return static_cast<LineSink*>(survey_.get());
  }

  Result<bool> finish(BlockingToken& token, JobView& view,
                      const std::function<bool()>& time_is_up) override {
    if (!comparing_) comparing_ = std::make_unique<Comparing>(*survey_, rule_, limit_);
    return comparing_->step(token, view, time_is_up);
  }

  void write(JsonWriter& out) override {
    attempt_.write(out, *view_);
    write_comparison(out, comparing_->result());
    out.key("lines").count(survey_->lines());
    out.key("without_rank").count(survey_->without_rank());
    if (survey_->values_left_out() > 0) {
      out.key("values_left_out").count(survey_->values_left_out());
    }
  }

 private:
  PeerRule rule_;
  std::size_t limit_;
  OneAttempt attempt_;
  const JobView* view_ = nullptr;
  std::unique_ptr<RankSurvey> survey_;
  std::unique_ptr<Comparing> comparing_;
};

}  // namespace

std::unique_ptr<FoldAnswer> ranks_answer(PeerRule rule, std::size_t limit, bool attempt_stated) {
  return std::make_unique<RanksAnswer>(std::move(rule), limit, attempt_stated);
}

}  // namespace logarithm::aggregator
