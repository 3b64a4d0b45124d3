#include "aggregator/http/against_task.h"

#include <algorithm>

#include "aggregator/http/compare_views.h"
#include "aggregator/http/lines_task.h"
#include "aggregator/http/one_attempt.h"

namespace logarithm::aggregator {

Status AgainstTask::open(BlockingToken& token, std::size_t side) {
  Open& open = open_[side];
  Side& asked = sides_[side];
  LGR_TRY(open.view, open_job(token, storage_, asked.job));
  if (asked.attempt) asked.named.attempts = {Interval{*asked.attempt, *asked.attempt}};
  LGR_CHECK(check_named(*open.view, asked.named));
  if (!asked.attempt) asked.attempt = newest_attempt(*open.view);
  if (asked.attempt) narrow_to(asked.plan, "attempt", {Interval{*asked.attempt, *asked.attempt}});
  open.predicate = asked.plan.predicate;
  open.survey = std::make_unique<RankSurvey>(*open.view, asked.attempt);
  open.fold = std::make_unique<Fold>(*open.view, asked.plan, *open.survey);
  return {};
}

Result<bool> AgainstTask::step(BlockingToken& token, const std::function<bool()>& time_is_up) {
  for (std::size_t side = 0; side < 2; ++side) {
    Open& open_side = open_[side];
    if (!open_side.view) LGR_CHECK(open(token, side));
    if (open_side.folded) continue;
    LGR_TRY(ScanState state, open_side.fold->next(token, time_is_up));
    if (state == ScanState::more) return false;
    open_side.folded = true;
  }
  if (!comparing_) {
    comparing_ = std::make_unique<ComparingSides>(*open_[0].survey, *open_[1].survey, limit_);
  }
  LGR_TRY(bool done,
          comparing_->step(token, {open_[0].view.get(), open_[1].view.get()}, time_is_up));
  if (!done) return false;
  write();
  return true;
}

void AgainstTask::write() {
  out_.begin_object().key("job").string(sides_[0].job.job);
  out_.optional_integer("attempt", sides_[0].attempt);
  out_.key("against").begin_object().key("job").string(sides_[1].job.job);
  out_.optional_integer("attempt", sides_[1].attempt);
  out_.end_object();
  write_consensus(out_, comparing_->result());
  write_departures(out_, comparing_->result());
}

}  // namespace logarithm::aggregator
