#include "agent/metrics.h"

#include "agent/collector.h"
#include "common/line/line_memory.h"

namespace logarithm::agent {
namespace {

void put(std::string& out, const char* name, const char* type, std::uint64_t value) {
  const std::string full = std::string("logarithm_agent_") + name;
  out += "# TYPE " + full + " " + type + "\n" + full + " " + std::to_string(value) + "\n";
}

net::Response not_found() {
  net::Response response;
  response.status = 404;
  response.content_type = "application/problem+json";
  response.body = R"({"status":404,"title":"Not Found","detail":"/metrics and /healthz are here"})";
  return response;
}

}  // namespace

std::string metrics_text(const CollectorStats& collector, const SpoolStats& spool,
                         const UplinkStats& uplink) {
  std::string out;
  put(out, "lines_total", "counter", collector.lines);
  put(out, "bytes_total", "counter", collector.bytes);
  put(out, "streams", "gauge", collector.streams);
  put(out, "lag_bytes", "gauge", collector.lag_bytes);
  put(out, "waiting_files", "gauge", collector.waiting);
  put(out, "not_captured", "gauge", collector.not_captured);
  put(out, "rule_problems", "gauge", collector.rule_problems);
  put(out, "kernel_records_total", "counter", collector.kernel_records);
  put(out, "kernel_overwritten_total", "counter", collector.kernel_overwritten);
  put(out, "gaps_total", "counter", collector.gaps);
  put(out, "store_lost_bytes_total", "counter", collector.store_lost_bytes);
  put(out, "refilled_bytes_total", "counter", collector.refilled_bytes);
  put(out, "revived_blocks_total", "counter", spool.revived_blocks);
  put(out, "spool_bytes", "gauge", spool.bytes);
  put(out, "spool_blocks", "gauge", spool.unacked_blocks);
  put(out, "spool_full_total", "counter", spool.full);
  put(out, "spool_retries_total", "counter", collector.write_retries);
  put(out, "spool_write_errors_total", "counter", spool.write_errors);
  put(out, "acked_blocks_total", "counter", uplink.acked_blocks);
  put(out, "sent_bytes_total", "counter", uplink.sent_bytes);
  put(out, "refused_total", "counter", uplink.refused_retryable);
  put(out, "sent_plain_total", "counter", uplink.sent_plain);
  put(out, "connected", "gauge", uplink.connected ? 1 : 0);
  put(out, "connects_total", "counter", uplink.connects);
  const std::string dropped = "logarithm_agent_dropped_total";
  out += "# TYPE " + dropped + " counter\n";
  const auto drop = [&](const char* reason, std::uint64_t value) {
    out += dropped + "{reason=\"" + reason + "\"} " + std::to_string(value) + "\n";
  };
  drop("refused", spool.dead_letters);
  drop("spool_damaged", spool.lost_blocks);
  drop("abandoned", collector.abandoned);
  drop("encode_error", collector.encode_errors);
  return out;
}

std::string rule_metrics_text(const std::vector<RuleCost>& costs) {
  const std::string name = "logarithm_agent_rule_seconds_total";
  std::string out = "# TYPE " + name + " counter\n";
  for (const RuleCost& cost : costs) {
    if (cost.runs == 0) continue;
    out += name + "{rule=\"";
    for (const char c : cost.name) {
      if (c == '"' || c == '\\') out.push_back('\\');
      if (c == '\n') {
        out += "\\n";
      } else {
        out.push_back(c);
      }
    }
    out += "\"} " + std::to_string(cost.seconds) + "\n";
  }
  return out;
}

std::string line_memory_metrics_text(const LineMemoryCounters& memory) {
  std::string out;
  put(out, "line_memory_entries", "gauge", memory.entries);
  put(out, "line_memory_bytes", "gauge", memory.bytes);
  put(out, "line_memory_hits_total", "counter", memory.hits);
  put(out, "line_memory_misses_total", "counter", memory.misses);
  put(out, "line_memory_replaced_total", "counter", memory.replaced);
  return out;
}

boost::asio::awaitable<net::Response> MetricsHandler::handle(net::Request request) {
  net::Response response;
  if (request.path == "/metrics") {
    response.content_type = "text/plain; version=0.0.4";
    response.body = text_();
  } else if (request.path == "/healthz") {
    response.body = R"({"status":"ok"})";
  } else {
    response = not_found();
  }
  co_return response;
}

std::optional<net::Response> MetricsHandler::check_websocket(const net::Request&) {
  return not_found();
}

boost::asio::awaitable<void> MetricsHandler::websocket(net::Request,
                                                       std::shared_ptr<net::WsConnection>) {
  co_return;  // check_websocket() accepts none
}

}  // namespace logarithm::agent
