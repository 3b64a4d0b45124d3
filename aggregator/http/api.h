#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/http/agents_view.h"
#include "aggregator/http/auth.h"
#include "aggregator/http/query_runner.h"
#include "aggregator/http/router.h"
#include "aggregator/query/predicate.h"
#include "aggregator/store/storage.h"
#include "common/net/http.h"

namespace logarithm::aggregator {

namespace triage {
class SurveyCache;
}

class FoldAnswer;
class MatchCache;
class SuppressionStore;
struct ScanPlan;

// Serves one WebSocket until it ends.
class WebSocketEndpoint {
 public:
  virtual ~WebSocketEndpoint() = default;
  virtual boost::asio::awaitable<void> serve(std::shared_ptr<net::WsConnection> connection) = 0;
};

// A WebSocket that is a question: judged before it is accepted.
class TailService {
 public:
  virtual ~TailService() = default;
  // The answer that refuses it; nullopt: serve() may follow.
  virtual std::optional<net::Response> refuse(const net::Request& request) = 0;
  virtual boost::asio::awaitable<void> serve(net::Request request, std::string tenant,
                                             std::shared_ptr<net::WsConnection> connection) = 0;
};

// The REST interface of contract.md. On the I/O thread; everything that blocks goes through the
// query runner. What it refers to must outlive the server.
class Api final : public net::HttpHandler {
 public:
  Api(Storage& storage, QueryRunner& queries, AgentsView& agents, WebSocketEndpoint& ingest,
      std::vector<TokenGrant> tokens);

  boost::asio::awaitable<net::Response> handle(net::Request request) override;
  std::optional<net::Response> check_websocket(const net::Request& request) override;
  boost::asio::awaitable<void> websocket(net::Request request,
                                         std::shared_ptr<net::WsConnection> connection) override;

  // Serves /api/v1/tail, when there is one; it outlives the server.
  void set_tail(TailService& tail) { tail_ = &tail; }
  // The lists that `suppress` names, when there are some; it outlives the server.
  void set_suppressions(SuppressionStore& lists) { suppressions_ = &lists; }
  // What /readyz says.
  void set_ready(bool ready) { ready_ = ready; }
  // Appends metrics of parts that this one does not know, in Prometheus' text form.
  void set_more_metrics(std::function<void(std::string&)> write) {
    more_metrics_ = std::move(write);
  }

  // Writes more members of /api/v1/status.
  void set_more_status(std::function<void(JsonWriter&)> write) { more_status_ = std::move(write); }
  void set_tokens(std::vector<TokenGrant> tokens) { tokens_ = std::move(tokens); }

 private:
  using Answer = boost::asio::awaitable<net::Response>;

  template <typename Method>
  void route(std::string_view pattern, Method method, std::string_view verb = "GET");
  // `suppress` of a request as filters; else the answer that refuses it.
  std::optional<net::Response> expand_suppress(net::Request& request, const std::string& tenant,
                                               const std::string& job) const;

  // api_lines.cpp
  Answer lines(Call call);
  Answer count(Call call);
  Answer context(Call call);
  Answer raw(Call call);
  // api_facts.cpp
  Answer jobs(Call call);
  Answer job(Call call);
  Answer streams(Call call);
  Answer processes(Call call);
  // api_histogram.cpp, api_fields.cpp, api_callsites.cpp, api_telemetry.cpp
  Answer histogram(Call call);
  Answer fields(Call call);
  Answer callsites(Call call);
  // api_compare.cpp, api_correlate.cpp
  Answer compare(Call call);
  Answer correlate(Call call);
  Answer series(Call call);
  Answer points(Call call);
  // api_triage.cpp
  Answer triage(Call call);
  // api_suppressions.cpp: of a job, and of the tenant (an empty capture)
  Answer suppressions(Call call);
  Answer put_suppression(Call call);
  Answer delete_suppression(Call call);
  // api_operations.cpp
  Answer status(Call call);
  Answer health(Call call);
  Answer ready(Call call);
  Answer metrics(Call call);
  Answer openapi(Call call);
  Answer front(Call call);

  // What `answer` makes of the lines of a plan, with its completeness (fold_task.cpp).
  Answer folded(Call call, ScanPlan plan, std::unique_ptr<FoldAnswer> answer);
  // Over the streams that can hold lines of `predicate`.
  Completeness completeness(const JobKey& job, const JobView& view, const Predicate& predicate);

  Storage& storage_;
  QueryRunner& queries_;
  AgentsView& agents_;
  WebSocketEndpoint& ingest_;
  TailService* tail_ = nullptr;
  SuppressionStore* suppressions_ = nullptr;
  std::vector<TokenGrant> tokens_;
  Router router_;
  std::shared_ptr<triage::SurveyCache> surveys_;
  std::shared_ptr<MatchCache> matches_;
  std::function<void(std::string&)> more_metrics_;
  std::function<void(JsonWriter&)> more_status_;
  bool ready_ = false;
  std::uint64_t requests_ = 0, unauthenticated_ = 0;
};

// True when `predicate` can hold for lines of the stream, by its attributes.
bool stream_wanted(const JobView& view, std::size_t stream, const Predicate& predicate);

}  // namespace logarithm::aggregator
