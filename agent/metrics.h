#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/net/http.h"
#include "common/rules/rule_set.h"

namespace logarithm {
struct LineMemoryCounters;
}

namespace logarithm::agent {

struct CollectorStats;
struct SpoolStats;
struct UplinkStats;

// Prometheus text of all counters. Any thread.
std::string metrics_text(const CollectorStats& collector, const SpoolStats& spool,
                         const UplinkStats& uplink);

// `logarithm_agent_rule_seconds_total{rule}`: scaled up from samples; rules that never ran are left
// out. Any thread.
std::string rule_metrics_text(const std::vector<RuleCost>& costs);

// `logarithm_agent_line_memory_…`: what is remembered of lines (see common/line/README.md). Any
// thread.
std::string line_memory_metrics_text(const LineMemoryCounters& memory);

// `/metrics` and `/healthz` of the agent.
class MetricsHandler final : public net::HttpHandler {
 public:
  explicit MetricsHandler(std::function<std::string()> text) : text_(std::move(text)) {}
  boost::asio::awaitable<net::Response> handle(net::Request request) override;
  std::optional<net::Response> check_websocket(const net::Request& request) override;
  boost::asio::awaitable<void> websocket(net::Request request,
                                         std::shared_ptr<net::WsConnection> connection) override;

 private:
  std::function<std::string()> text_;
};

}  // namespace logarithm::agent
