#include "aggregator/http/api.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>

#include "aggregator/http/endpoints.h"
#include "aggregator/http/problem.h"
#include "aggregator/http/request_params.h"
#include "aggregator/query/judge.h"
#include "aggregator/query/match_cache.h"
#include "aggregator/triage/survey_cache.h"

namespace logarithm::aggregator {
namespace {

// Open without a token: probes have none, nor has whoever wants to know what this is.
bool is_open(std::string_view path) {
  return path == "/healthz" || path == "/readyz" || path == "/";
}

// What triage remembers of the blocks that it looked at, bytes.
constexpr std::size_t kSurveys = 128u << 20;
// What correlations remember of the blocks that they asked, bytes.
constexpr std::size_t kMatches = 32u << 20;

constexpr std::string_view kApi = "/api/";
constexpr std::string_view kIngestPath = "/api/v1/ingest", kTailPath = "/api/v1/tail";

boost::asio::awaitable<net::Response> answer_with(net::Response response) {
  co_return std::move(response);
}

}  // namespace

// A handler that is no row of the table is not served.
template <typename Method>
void Api::route(std::string_view pattern, Method method, std::string_view verb) {
  const Endpoint* endpoint = find_endpoint(verb, pattern);
  if (endpoint == nullptr) return;
  router_.add(std::string(verb), pattern, [this, method, endpoint](Call call) {
    // Probes and scrapers add what they like.
    if (endpoint->path.starts_with(kApi)) {
      auto refused = refuse_unknown(call.request, parameter_names(*endpoint));
      if (refused) return answer_with(std::move(*refused));
    }
    return (this->*method)(std::move(call));
  });
}

Api::Api(Storage& storage, QueryRunner& queries, AgentsView& agents, WebSocketEndpoint& ingest,
         std::vector<TokenGrant> tokens)
    : storage_(storage),
      queries_(queries),
      agents_(agents),
      ingest_(ingest),
      tokens_(std::move(tokens)),
      surveys_(std::make_shared<triage::SurveyCache>(kSurveys)),
      matches_(std::make_shared<MatchCache>(kMatches)) {
  route("/api/v1/jobs", &Api::jobs);
  route("/api/v1/jobs/{job}", &Api::job);
  route("/api/v1/jobs/{job}/lines", &Api::lines);
  route("/api/v1/jobs/{job}/count", &Api::count);
  route("/api/v1/jobs/{job}/streams", &Api::streams);
  route("/api/v1/jobs/{job}/processes", &Api::processes);
  route("/api/v1/jobs/{job}/raw", &Api::raw);
  route("/api/v1/jobs/{job}/histogram", &Api::histogram);
  route("/api/v1/jobs/{job}/fields", &Api::fields);
  route("/api/v1/jobs/{job}/callsites", &Api::callsites);
  route("/api/v1/jobs/{job}/compare", &Api::compare);
  route("/api/v1/jobs/{job}/correlate", &Api::correlate);
  route("/api/v1/jobs/{job}/telemetry/series", &Api::series);
  route("/api/v1/jobs/{job}/telemetry/points", &Api::points);
  route("/api/v1/jobs/{job}/triage", &Api::triage);
  for (const std::string_view path : {"/api/v1/jobs/{job}/suppressions", "/api/v1/suppressions"}) {
    route(path, &Api::suppressions);
    route(path, &Api::put_suppression, "PUT");
    route(path, &Api::delete_suppression, "DELETE");
  }
  route("/api/v1/context", &Api::context);
  route("/api/v1/status", &Api::status);
  route("/api/v1/openapi.json", &Api::openapi);
  route("/", &Api::front);
  route("/healthz", &Api::health);
  route("/readyz", &Api::ready);
  route("/metrics", &Api::metrics);
}

boost::asio::awaitable<net::Response> Api::handle(net::Request request) {
  ++requests_;
  // A client that leaves is an ordinary end of a query, not an exception.
  const bool throws = co_await boost::asio::this_coro::throw_if_cancelled();
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  net::Response response;
  auto tenant = tenant_of(request, tokens_);
  if (!tenant && !is_open(request.path)) {
    ++unauthenticated_;
    response = problem(401, "a valid bearer token is needed");
  } else {
    auto found = router_.find(request.method, request.path);
    if (auto* match = std::get_if<Router::Match>(&found)) {
      Call call;
      call.request = std::move(request);
      call.capture = std::move(match->capture);
      call.tenant = tenant.value_or("default");
      if (auto refused = expand_suppress(call.request, call.tenant, call.capture)) {
        response = std::move(*refused);
      } else {
        auto answer = (*match->handler)(std::move(call));
        response = co_await std::move(answer);
      }
    } else if (auto* wrong = std::get_if<Router::WrongMethod>(&found)) {
      response = problem(405, "this path answers to " + wrong->allow);
      response.headers.emplace_back("Allow", wrong->allow);
    } else if (request.path == kIngestPath) {
      response = problem(400, "this path is a WebSocket (subprotocol logarithm.v1)");
    } else if (request.path == kTailPath) {
      response = problem(400, "this path is a WebSocket");
    } else {
      response = problem(404, "no such path: " + request.path.substr(0, 200));
    }
  }
  co_await boost::asio::this_coro::throw_if_cancelled(throws);
  co_return response;
}

std::optional<net::Response> Api::check_websocket(const net::Request& request) {
  if (request.path == kTailPath && tail_ != nullptr) {
    ++requests_;
    if (const auto tenant = tenant_of(request, tokens_)) {
      net::Request expanded = request;
      const std::string job(request.param("job").value_or(""));
      if (auto refused = expand_suppress(expanded, *tenant, job)) return refused;
      const Endpoint& endpoint = *find_endpoint("GET", kTailPath);
      if (auto refused = refuse_unknown(expanded, parameter_names(endpoint))) return refused;
      return tail_->refuse(expanded);
    }
    ++unauthenticated_;
    return problem(401, "a valid bearer token is needed");
  }
  if (request.path != kIngestPath) {
    return problem(404, "no WebSocket at this path: " + request.path.substr(0, 200));
  }
  // Without a header the hello must bring the token; a wrong one need not get that far.
  const bool stated = net::find_header(request.headers, "Authorization").has_value();
  if (stated && !tenant_of(request, tokens_)) {
    ++unauthenticated_;
    return problem(401, "a valid bearer token is needed");
  }
  return std::nullopt;
}

boost::asio::awaitable<void> Api::websocket(net::Request request,
                                            std::shared_ptr<net::WsConnection> connection) {
  if (request.path == kTailPath) {
    auto tenant = tenant_of(request, tokens_);
    if (!tenant) co_return;
    std::string name = std::move(*tenant);
    const std::string job(request.param("job").value_or(""));
    // check_websocket() has said what is wrong; a list that went away since hides nothing.
    if (expand_suppress(request, name, job)) co_return;
    auto served = tail_->serve(std::move(request), std::move(name), std::move(connection));
    co_return co_await std::move(served);
  }
  // Of the ingest the session's hello says who it is.
  co_await ingest_.serve(std::move(connection));
}

bool stream_wanted(const JobView& view, std::size_t stream, const Predicate& predicate) {
  const auto& joins = view.joins(stream);
  return std::any_of(joins.begin(), joins.end(), [&](const StreamJoin& join) {
    return judge(predicate, join, nullptr, nullptr) != Verdict::never;
  });
}

Completeness Api::completeness(const JobKey& job, const JobView& view, const Predicate& predicate) {
  const auto wanted = [&](std::size_t stream) { return stream_wanted(view, stream, predicate); };
  return completeness_of(view, agents_.progress_of(job), wanted);
}

}  // namespace logarithm::aggregator
