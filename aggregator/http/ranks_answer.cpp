#include "aggregator/http/ranks_answer.h"

#include <utility>

#include "aggregator/http/compare_views.h"
#include "aggregator/http/ranks_fold.h"

namespace logarithm::aggregator {
namespace {

class RanksAnswer final : public RanksFold {
 public:
  RanksAnswer(PeerRule rule, std::size_t limit, bool attempt_stated)
      : RanksFold(std::move(rule), limit, attempt_stated) {}

  Status narrow(BlockingToken&, JobView& view, ScanPlan& plan) override {
    attempt_.choose(view, plan);
    return {};
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
};

}  // namespace

std::unique_ptr<FoldAnswer> ranks_answer(PeerRule rule, std::size_t limit, bool attempt_stated) {
  return std::make_unique<RanksAnswer>(std::move(rule), limit, attempt_stated);
}

}  // namespace logarithm::aggregator
