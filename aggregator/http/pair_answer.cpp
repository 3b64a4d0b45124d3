#include "aggregator/http/pair_answer.h"

#include <utility>
#include <vector>

#include "aggregator/compare/comparison.h"
#include "aggregator/compare/pair_lines.h"
#include "aggregator/http/compare_views.h"
#include "aggregator/http/one_attempt.h"

namespace logarithm::aggregator {
namespace {

// Gives lines to two sinks.
class BothSinks final : public LineSink {
 public:
  BothSinks(LineSink& a, LineSink& b) : a_(a), b_(b) {}
  BlockPart parts() const override { return a_.parts() | b_.parts(); }
  Status take(const Line& line, const StreamJoin& join, const BlockRef& block) override {
    LGR_CHECK(a_.take(line, join, block));
    return b_.take(line, join, block);
  }

 private:
  LineSink& a_;
  LineSink& b_;
};

class PairAnswer final : public FoldAnswer {
 public:
  PairAnswer(std::array<std::int32_t, 2> ranks, PairLimits limits, bool attempt_stated)
      : ranks_(ranks), limits_(limits), attempt_(attempt_stated) {}

  Status narrow(BlockingToken&, JobView& view, ScanPlan& plan) override {
    attempt_.choose(view, plan);
    return {};
  }

  Result<LineSink*> open(const JobView& view, const ScanPlan&) override {
    view_ = &view;
    survey_ = std::make_unique<RankSurvey>(view, attempt_.attempt());
    lines_ = std::make_unique<PairLines>(view, ranks_, attempt_.attempt());
    both_ = std::make_unique<BothSinks>(*survey_, *lines_);
    return static_cast<LineSink*>(both_.get());
  }

  Result<bool> finish(BlockingToken& token, JobView& view,
                      const std::function<bool()>& time_is_up) override {
    if (!comparing_) {
      PeerRule all;
      all.kind = PeerRule::Kind::all;
      comparing_ = std::make_unique<Comparing>(*survey_, all, std::size_t{1});
    }
    LGR_TRY(bool done, comparing_->step(token, view, time_is_up));
    if (!done) return false;
    rows_ = lay_side_by_side(*lines_, comparing_->groups());
    return true;
  }

  void write(JsonWriter& out) override {
    attempt_.write(out, *view_);
    write_consensus(out, comparing_->result());
    PairView pair;
    pair.ranks = ranks_;
    pair.left = &lines_->side(0);
    pair.right = &lines_->side(1);
    pair.rows = &rows_;
    pair.limit = limits_.rows;
    pair.context = limits_.context;
    write_pair(out, pair);
  }

 private:
  std::array<std::int32_t, 2> ranks_;
  PairLimits limits_;
  OneAttempt attempt_;
  const JobView* view_ = nullptr;
  std::unique_ptr<RankSurvey> survey_;
  std::unique_ptr<PairLines> lines_;
  std::unique_ptr<BothSinks> both_;
  std::unique_ptr<Comparing> comparing_;
  std::vector<PairRow> rows_;
};

}  // namespace

std::unique_ptr<FoldAnswer> pair_answer(std::array<std::int32_t, 2> ranks, PairLimits limits,
                                        bool attempt_stated) {
  return std::make_unique<PairAnswer>(ranks, limits, attempt_stated);
}

}  // namespace logarithm::aggregator
