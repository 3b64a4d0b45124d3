#include <algorithm>
#include <charconv>

#include "aggregator/http/api.h"
#include "aggregator/http/context_task.h"
#include "aggregator/http/lines_body.h"
#include "aggregator/http/lines_task.h"
#include "aggregator/http/plan_params.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/request_params.h"
#include "aggregator/http/views.h"

namespace logarithm::aggregator {
namespace {

constexpr std::uint64_t kDefaultLimit = 100, kMaxPage = 10'000;

bool wants_ndjson(const net::Request& request) {
  auto accept = net::find_header(request.headers, "Accept");
  return accept && accept->find("application/x-ndjson") != std::string_view::npos;
}

// Either a request to run or the answer that refuses it.
struct ParsedLines {
  LinesRequest request;
  std::optional<net::Response> refused;
};

ParsedLines refuse(net::Response response) {
  ParsedLines out;
  out.refused = std::move(response);
  return out;
}

ParsedLines parse_lines(const Call& call, UnixNanos now) {
  const net::Request& request = call.request;
  ParsedLines out;
  LinesRequest& lines = out.request;
  lines.job = JobKey{call.tenant, call.capture};
  lines.ndjson = wants_ndjson(request);
  lines.query_hash = hash_query(call.capture, request.query);
  if (auto refused = read_filters(request, now, lines.plan)) return refuse(std::move(*refused));
  if (!lines.ndjson || request.param("limit")) {
    const std::uint64_t most = lines.ndjson ? std::uint64_t{1} << 53 : kMaxPage;
    auto limit = number_param(request, "limit", kDefaultLimit, 1, most);
    if (!limit.ok()) return refuse(problem(400, limit.error().message(), std::nullopt, "limit"));
    lines.limit = *limit;
  }
  if (auto refused = read_direction(request, Direction::backward, lines.plan)) {
    return refuse(std::move(*refused));
  }
  if (auto refused = read_cursor(request, lines.query_hash, lines.plan)) {
    return refuse(std::move(*refused));
  }
  return out;
}

void write_next(JsonWriter& out, const std::optional<Cursor>& next) {
  out.key("next");
  next ? out.string(to_text(*next)) : out.null();
}

}  // namespace

Api::Answer Api::lines(Call call) {
  ParsedLines parsed = parse_lines(call, queries_.clock().wall_now());
  if (parsed.refused) co_return std::move(*parsed.refused);
  auto place = queries_.try_admit();
  if (!place) co_return too_many_queries();
  parsed.request.memory = queries_.memory_share();
  parsed.request.clock = &queries_.clock();
  const JobKey job = parsed.request.job;
  const bool ndjson = parsed.request.ndjson;
  auto task = std::make_shared<LinesTask>(storage_, std::move(parsed.request));
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok()) co_return problem_of(status.error());

  net::Response response;
  if (ndjson) {
    response.content_type = "application/x-ndjson";
    auto end_record = [this, job](LinesTask& done) {
      JsonWriter out;
      out.begin_object().key("end").begin_object();
      write_next(out, done.next());
      out.key("completeness");
      write_completeness(out, completeness(job, done.view(), done.predicate()));
      out.end_object().end_object().newline();
      return out.take();
    };
    response.stream = std::make_shared<LinesBody>(queries_, std::move(task), std::move(place),
                                                  std::move(end_record));
    co_return response;
  }
  JsonWriter out;
  out.begin_object();
  write_next(out, task->next());
  out.key("completeness");
  write_completeness(out, completeness(job, task->view(), task->predicate()));
  out.end_object();
  // The lines are the bulk: they go in as they are.
  response.body = "{\"lines\":[" + task->take_text() + "]," + out.take().substr(1);
  co_return response;
}

Api::Answer Api::count(Call call) {
  ScanPlan plan;
  if (auto refused = read_filters(call.request, queries_.clock().wall_now(), plan)) {
    co_return std::move(*refused);
  }
  auto place = queries_.try_admit();
  if (!place) co_return too_many_queries();
  const JobKey job{call.tenant, call.capture};
  auto task = std::make_shared<CountTask>(storage_, job, std::move(plan));
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok()) co_return problem_of(status.error());
  JsonWriter out;
  out.begin_object().key("count").count(task->count()).key("completeness");
  write_completeness(out, completeness(job, task->view(), task->predicate()));
  out.end_object();
  net::Response response;
  response.body = out.take();
  co_return response;
}

namespace {

// "<stream>:<offset>".
Result<std::pair<StreamId, std::uint64_t>> parse_line_id(std::string_view text) {
  const Error bad(ErrorCode::invalid, "a line id is <stream>:<offset>");
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad;
  auto stream = parse_stream_id(text.substr(0, colon));
  std::uint64_t offset = 0;
  const std::string_view digits = text.substr(colon + 1);
  const char* end = digits.data() + digits.size();
  auto [stop, trouble] = std::from_chars(digits.data(), end, offset);
  if (!stream.ok() || digits.empty() || trouble != std::errc{} || stop != end) return bad;
  return std::make_pair(*stream, offset);
}

Result<ContextRequest> parse_context(const Call& call) {
  ContextRequest out;
  out.tenant = call.tenant;
  auto id = call.request.param("id");
  if (!id) return Error(ErrorCode::invalid, "id is needed: a line's id");
  LGR_TRY(auto key, parse_line_id(*id));
  out.stream = key.first;
  out.offset = key.second;
  LGR_TRY(out.before, number_param(call.request, "before", 10, 0, kMaxPage));
  LGR_TRY(out.after, number_param(call.request, "after", 10, 0, kMaxPage));
  LGR_TRY(out.all_ranks, bool_param(call.request, "all_ranks", false));
  return out;
}

Result<RawRequest> parse_raw(const Call& call) {
  RawRequest out;
  out.job = JobKey{call.tenant, call.capture};
  auto id = call.request.param("stream_id");
  if (!id) return Error(ErrorCode::invalid, "stream_id is needed: one of …/streams");
  LGR_TRY(out.stream, parse_stream_id(*id));
  LGR_TRY(out.from, number_param(call.request, "from", 0, 0, UINT64_MAX));
  LGR_TRY(out.to, number_param(call.request, "to", UINT64_MAX, 0, UINT64_MAX));
  return out;
}

}  // namespace

Api::Answer Api::context(Call call) {
  auto request = parse_context(call);
  if (!request.ok()) co_return problem_of(request.error());
  auto place = queries_.try_admit();
  if (!place) co_return too_many_queries();
  request->memory = queries_.memory_share();
  const bool all_ranks = request->all_ranks;
  auto task = std::make_shared<ContextTask>(storage_, std::move(*request));
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok()) co_return problem_of(status.error());
  JsonWriter out;
  out.begin_object().key("lines").begin_array();
  for (const QueryLine& line : task->lines()) write_line(out, line);
  out.end_array().key("next").null().key("completeness");
  const JobKey job{call.tenant, task->view().job()};
  const auto wanted = [&](std::size_t stream) { return all_ranks || stream == task->stream(); };
  write_completeness(out, completeness_of(task->view(), agents_.progress_of(job), wanted));
  out.end_object();
  net::Response response;
  response.body = out.take();
  co_return response;
}

Api::Answer Api::raw(Call call) {
  auto request = parse_raw(call);
  if (!request.ok()) co_return problem_of(request.error());
  auto place = queries_.try_admit();
  if (!place) co_return too_many_queries();
  request->clock = &queries_.clock();
  auto task = std::make_shared<RawTask>(storage_, std::move(*request));
  auto running = queries_.run(task);
  Status status = co_await std::move(running);
  if (!status.ok()) co_return problem_of(status.error());
  net::Response response;
  response.content_type = "application/octet-stream";
  response.headers.emplace_back("X-Logarithm-Gaps", std::to_string(task->gaps()));
  response.stream = std::make_shared<RawBody>(queries_, std::move(task), std::move(place));
  co_return response;
}

}  // namespace logarithm::aggregator
