#include "aggregator/http/fold_task.h"

#include "aggregator/http/api.h"
#include "aggregator/http/lines_task.h"
#include "aggregator/http/plan_params.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/views.h"

namespace logarithm::aggregator {

Result<bool> FoldAnswer::finish(BlockingToken&, JobView&, const std::function<bool()>&) {
  return true;
}

Status FoldAnswer::narrow(BlockingToken&, JobView&, ScanPlan&) { return {}; }

Result<bool> FoldTask::step(BlockingToken& token, const std::function<bool()>& time_is_up) {
  if (!view_) {
    LGR_TRY(view_, open_job(token, storage_, job_));
    LGR_CHECK(check_named(*view_, named_));
  }
  do {
    if (!fold_) {
      plan_ = asked_;
      LGR_CHECK(answer_->narrow(token, *view_, plan_));
      LGR_TRY(LineSink * sink, answer_->open(*view_, plan_));
      fold_ = std::make_unique<Fold>(*view_, plan_, *sink);
    }
    if (!folded_) {
      LGR_TRY(ScanState state, fold_->next(token, time_is_up));
      if (state == ScanState::more) return false;
      folded_ = true;
    }
    LGR_TRY(bool finished, answer_->finish(token, *view_, time_is_up));
    if (!finished) return false;
    if (!answer_->again()) break;
    fold_.reset();
    folded_ = false;
  } while (!time_is_up());
  if (!fold_) return false;
  out_.begin_object();
  answer_->write(out_);
  return true;
}

Api::Answer Api::folded(Call call, ScanPlan plan, std::unique_ptr<FoldAnswer> answer) {
  auto place = queries_.try_admit();
  if (!place) co_return too_many_queries();
  const JobKey job{call.tenant, call.capture};
  auto task = std::make_shared<FoldTask>(storage_, job, named_in(call.request), std::move(plan),
                                         std::move(answer));
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok()) co_return problem_of(status.error());
  JsonWriter& out = task->out();
  out.key("completeness");
  write_completeness(out, completeness(job, task->view(), task->predicate()));
  out.end_object();
  net::Response response;
  response.body = out.take();
  co_return response;
}

}  // namespace logarithm::aggregator
