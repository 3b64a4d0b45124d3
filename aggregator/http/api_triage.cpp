#include <chrono>
#include <cstdio>

#include "aggregator/http/api.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/request_params.h"
#include "aggregator/http/triage_task.h"
#include "aggregator/http/views.h"

namespace logarithm::aggregator {

Api::Answer Api::triage(Call call) {
  const net::Request& request = call.request;
  triage::GatherOptions options;
  options.now = queries_.clock().wall_now();
  if (request.param("attempt")) {
    auto attempt = number_param(request, "attempt", 0, 0, INT32_MAX);
    if (!attempt.ok()) co_return problem(400, attempt.error().message(), std::nullopt, "attempt");
    options.attempt = static_cast<std::int32_t>(*attempt);
  }
  auto place = queries_.try_admit();
  if (!place) co_return too_many_queries();
  const JobKey job{call.tenant, call.capture};
  auto task = std::make_shared<TriageTask>(storage_, job, *surveys_, options);
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok()) co_return problem_of(status.error());
  JsonWriter& out = task->out();
  out.key("completeness");
  write_completeness(out, completeness(job, task->view(), Predicate()));
  out.end_object();
  net::Response response;
  response.body = out.take();
  // Whoever asks again and again can keep to what it may cost.
  char timing[48];
  std::snprintf(timing, sizeof timing, "cpu;dur=%.3f",
                std::chrono::duration<double, std::milli>(task->cpu()).count());
  response.headers.emplace_back("Server-Timing", timing);
  co_return response;
}

}  // namespace logarithm::aggregator
