#include <algorithm>

#include "aggregator/http/api.h"
#include "aggregator/http/lines_task.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/request_params.h"
#include "aggregator/http/views.h"
#include "aggregator/query/filters.h"
#include "aggregator/query/judge.h"

namespace logarithm::aggregator {
namespace {

// Summaries of some or all jobs of a tenant, one a turn.
class JobsTask final : public QueryTask {
 public:
  JobsTask(Storage& storage, std::string tenant, std::optional<std::string> only,
           ProgressLookup progress)
      : storage_(storage),
        tenant_(std::move(tenant)),
        only_(std::move(only)),
        progress_(std::move(progress)) {}

  Result<bool> step(BlockingToken& token, const std::function<bool()>& time_is_up) override {
    if (!listed_) {
      if (only_) {
        keys_.push_back(JobKey{tenant_, *only_});
      } else {
        LGR_TRY(keys_, storage_.jobs(token, tenant_));
        std::sort(keys_.begin(), keys_.end());
      }
      listed_ = true;
    }
    for (; next_ < keys_.size(); ++next_) {
      if (time_is_up()) return false;
      Status added = add(token, keys_[next_]);
      if (added.ok()) continue;
      if (added.error().code() != ErrorCode::not_found) return added.error();
      if (only_) return Error(ErrorCode::not_found, "no such job: " + *only_);
    }
    return true;
  }

  std::string text(UnixNanos now) const {
    JsonWriter out;
    out.begin_object().key("jobs").begin_array();
    for (std::size_t i = 0; i < summaries_.size(); ++i) {
      write_job(out, summaries_[i], freshness_[i], now);
    }
    out.end_array().end_object();
    return out.take();
  }

 private:
  Status add(BlockingToken& token, const JobKey& key) {
    LGR_TRY(JobSummary summary, storage_.summary(token, key));
    LGR_TRY(auto snapshot, storage_.snapshot(token, key));
    freshness_.push_back(freshness_of(snapshot->streams(), progress_));
    summaries_.push_back(std::move(summary));
    return {};
  }

  Storage& storage_;
  std::string tenant_;
  std::optional<std::string> only_;
  ProgressLookup progress_;
  bool listed_ = false;
  std::vector<JobKey> keys_;
  std::size_t next_ = 0;
  std::vector<JobSummary> summaries_;
  std::vector<Freshness> freshness_;  // of each
};

// By what the stream is said to be, ranks of wrappers inside it left aside.
bool named_by(const JobView& view, std::size_t stream, const Predicate& predicate) {
  const BlockHeader nothing_inside;
  const auto& joins = view.joins(stream);
  return std::any_of(joins.begin(), joins.end(), [&](const StreamJoin& join) {
    return judge(predicate, join, &nothing_inside, nullptr) != Verdict::never;
  });
}

// The facts of one job.
class FactsTask final : public QueryTask {
 public:
  FactsTask(Storage& storage, JobKey job) : storage_(storage), job_(std::move(job)) {}
  Result<bool> step(BlockingToken& token, const std::function<bool()>&) override {
    LGR_TRY(view_, open_job(token, storage_, job_));
    return true;
  }
  const JobView& view() const { return *view_; }

 private:
  Storage& storage_;
  JobKey job_;
  std::unique_ptr<JobView> view_;
};

}  // namespace

Api::Answer Api::jobs(Call call) {
  auto place = queries_.try_admit_light();
  if (!place) co_return too_many_queries();
  auto task = std::make_shared<JobsTask>(storage_, call.tenant, std::nullopt,
                                         agents_.progress_of_tenant(call.tenant));
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok()) co_return problem_of(status.error());
  net::Response response;
  response.body = task->text(queries_.clock().wall_now());
  co_return response;
}

Api::Answer Api::job(Call call) {
  auto place = queries_.try_admit_light();
  if (!place) co_return too_many_queries();
  auto task = std::make_shared<JobsTask>(storage_, call.tenant, call.capture,
                                         agents_.progress_of({call.tenant, call.capture}));
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok()) co_return problem_of(status.error());
  net::Response response;
  response.body = task->text(queries_.clock().wall_now());
  co_return response;
}

Api::Answer Api::streams(Call call) {
  ParamProblem trouble;
  auto spec = parse_filters(call.request.query, queries_.clock().wall_now(), trouble);
  if (!spec.ok()) {
    co_return problem(400, trouble.parameter + ": " + spec.error().message(), trouble.position,
                      trouble.parameter);
  }
  auto place = queries_.try_admit_light();
  if (!place) co_return too_many_queries();
  const JobKey job{call.tenant, call.capture};
  auto task = std::make_shared<FactsTask>(storage_, job);
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok()) co_return problem_of(status.error());
  const JobView& view = task->view();
  const ProgressLookup progress = agents_.progress_of(job);
  JsonWriter out;
  out.begin_object().key("streams").begin_array();
  const auto& all = view.snapshot().streams();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (named_by(view, i, spec->predicate)) write_stream(out, view, i, progress(all[i].id));
  }
  out.end_array().key("completeness");
  write_completeness(out, completeness(job, view, spec->predicate));
  out.end_object();
  net::Response response;
  response.body = out.take();
  co_return response;
}

Api::Answer Api::processes(Call call) {
  auto place = queries_.try_admit_light();
  if (!place) co_return too_many_queries();
  auto task = std::make_shared<FactsTask>(storage_, JobKey{call.tenant, call.capture});
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok()) co_return problem_of(status.error());
  JsonWriter out;
  out.begin_object().key("processes").begin_array();
  for (const ProcessFacts& process : task->view().snapshot().processes()) {
    write_process(out, process);
  }
  out.end_array().end_object();
  net::Response response;
  response.body = out.take();
  co_return response;
}

}  // namespace logarithm::aggregator
