// Saved lists of what to hide, and the `suppress` of every request that filters.
#include "aggregator/http/api.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/request_params.h"
#include "aggregator/http/suppressions.h"

namespace logarithm::aggregator {
namespace {

constexpr std::string_view kSuppress = "suppress";

// Runs one change on a worker.
class ChangeTask final : public QueryTask {
 public:
  explicit ChangeTask(std::function<Status(BlockingToken&)> change) : change_(std::move(change)) {}
  Result<bool> step(BlockingToken& token, const std::function<bool()>&) override {
    LGR_CHECK(change_(token));
    return true;
  }

 private:
  std::function<Status(BlockingToken&)> change_;
};

void write_texts(JsonWriter& out, const char* name, const std::vector<std::string>& values) {
  out.key(name).begin_array();
  for (const std::string& value : values) out.string(value);
  out.end_array();
}

void write_lists(JsonWriter& out, const SuppressionStore::Lists& lists, std::string_view scope) {
  for (const auto& [name, list] : lists) {
    out.begin_object().key("name").string(name).key("scope").string(scope);
    write_texts(out, "callsites", list.callsites);
    write_texts(out, "templates", list.templates);
    write_texts(out, "texts", list.texts);
    out.end_object();
  }
}

net::Response no_lists() { return problem(503, "this server keeps no lists"); }

net::Response empty_answer(int status) {
  net::Response response;
  response.status = status;
  return response;
}

}  // namespace

std::optional<net::Response> Api::expand_suppress(net::Request& request, const std::string& tenant,
                                                  const std::string& job) const {
  std::vector<std::pair<std::string, std::string>> query;
  for (auto& [name, value] : request.query) {
    if (name != kSuppress) {
      query.emplace_back(std::move(name), std::move(value));
      continue;
    }
    if (job.empty()) return problem(400, "suppress goes with a job", std::nullopt, "suppress");
    if (suppressions_ == nullptr) return no_lists();
    const auto list = suppressions_->find(tenant, job, value);
    if (!list) {
      return problem(404, "no list \"" + value.substr(0, 64) + "\" of what to hide", std::nullopt,
                     "suppress");
    }
    for (auto& filter : list->filters()) query.push_back(std::move(filter));
  }
  request.query = std::move(query);
  return std::nullopt;
}

Api::Answer Api::suppressions(Call call) {
  if (suppressions_ == nullptr) co_return no_lists();
  JsonWriter out;
  out.begin_object().key("suppressions").begin_array();
  if (!call.capture.empty()) {
    write_lists(out, suppressions_->lists(call.tenant, call.capture), "job");
  }
  write_lists(out, suppressions_->lists(call.tenant, ""), "tenant");
  out.end_array().end_object();
  net::Response response;
  response.body = out.take();
  co_return response;
}

Api::Answer Api::put_suppression(Call call) {
  if (suppressions_ == nullptr) co_return no_lists();
  auto parsed = parse_suppression(call.request.body);
  if (!parsed.ok()) co_return problem(400, parsed.error().message());
  auto place = queries_.try_admit_light();
  if (!place) co_return too_many_queries();
  const std::string tenant = call.tenant, job = call.capture;
  auto task = std::make_shared<ChangeTask>([this, tenant, job, parsed](BlockingToken& token) {
    return suppressions_->put(token, tenant, job, parsed->first, parsed->second);
  });
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok() && status.error().code() == ErrorCode::too_large) {
    co_return problem(413, status.error().message());
  }
  if (!status.ok()) co_return problem_of(status.error());
  co_return empty_answer(204);
}

Api::Answer Api::delete_suppression(Call call) {
  if (suppressions_ == nullptr) co_return no_lists();
  const auto name = call.request.param("name");
  if (!name) co_return problem(400, "name is needed", std::nullopt, "name");
  auto place = queries_.try_admit_light();
  if (!place) co_return too_many_queries();
  const std::string tenant = call.tenant, job = call.capture, list(*name);
  auto task = std::make_shared<ChangeTask>([this, tenant, job, list](BlockingToken& token) {
    return suppressions_->erase(token, tenant, job, list);
  });
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok()) co_return problem_of(status.error());
  co_return empty_answer(204);
}

}  // namespace logarithm::aggregator
