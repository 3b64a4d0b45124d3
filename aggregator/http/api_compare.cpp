#include <algorithm>
#include <utility>

#include "aggregator/http/against_task.h"
#include "aggregator/http/api.h"
#include "aggregator/http/compare_params.h"
#include "aggregator/http/first_answer.h"
#include "aggregator/http/pair_answer.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/ranks_answer.h"
#include "aggregator/http/views.h"

namespace logarithm::aggregator {
namespace {

std::unique_ptr<FoldAnswer> answer_to(CompareParams& asked) {
  if (asked.first) return first_answer(std::move(asked.peers), asked.limit, asked.attempt_stated);
  if (asked.pair) {
    return pair_answer(*asked.pair, {asked.limit, asked.context}, asked.attempt_stated);
  }
  return ranks_answer(std::move(asked.peers), asked.limit, asked.attempt_stated);
}

}  // namespace

Api::Answer Api::compare(Call call) {
  CompareParams asked;
  if (auto refused = read_compare(call.request, queries_.clock().wall_now(), asked)) {
    co_return std::move(*refused);
  }
  if (asked.against) {
    auto sides = read_sides(call, asked);
    if (!sides.ok()) co_return problem(400, sides.error().message());
    auto place = queries_.try_admit();
    if (!place) co_return too_many_queries();
    const JobKey job = (*sides)[0].job;
    const auto most = std::min<std::size_t>(asked.limit, kMaxDepartures);
    auto task = std::make_shared<AgainstTask>(storage_, std::move(*sides), most);
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
  auto answer = answer_to(asked);
  auto folding = folded(std::move(call), std::move(asked.plan), std::move(answer));
  co_return co_await std::move(folding);
}

}  // namespace logarithm::aggregator
