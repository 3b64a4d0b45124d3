#include "aggregator/http/api.h"
#include "aggregator/http/endpoints.h"
#include "aggregator/http/front_page.h"
#include "aggregator/http/problem.h"
#include "aggregator/query/match_cache.h"

namespace logarithm::aggregator {
namespace {

net::Response plain(int status, std::string text) {
  net::Response response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(text);
  return response;
}

void metric(std::string& out, std::string_view name, std::string_view type, std::uint64_t value) {
  const std::string full = "logarithm_aggregator_" + std::string(name);
  out +=
      "# TYPE " + full + " " + std::string(type) + "\n" + full + " " + std::to_string(value) + "\n";
}

}  // namespace

Api::Answer Api::health(Call) { co_return plain(200, "ok\n"); }

Api::Answer Api::ready(Call) {
  if (ready_) co_return plain(200, "ready\n");
  co_return plain(503, "starting or stopping\n");
}

Api::Answer Api::openapi(Call) {
  static const std::string kDocument = openapi_document();
  net::Response response;
  response.body = kDocument;
  co_return response;
}

Api::Answer Api::front(Call call) {
  const auto host = net::find_header(call.request.headers, "Host");
  co_return plain(200, front_page(host.value_or(""), !tokens_.empty()));
}

Api::Answer Api::status(Call call) {
  const StorageStats stats = storage_.stats();
  JsonWriter out;
  out.begin_object();
  out.key("version").string(LGR_VERSION);
  out.key("time").time(queries_.clock().wall_now());
  out.key("ready").boolean(ready_);
  out.key("agents");
  agents_.write_agents(out, call.tenant);
  out.key("storage").begin_object();
  out.key("shards").count(stats.shards).key("open_shards").count(stats.open_shards);
  out.key("blocks").count(stats.blocks).key("inbox_blocks").count(stats.inbox_blocks);
  out.key("lines").count(stats.lines).key("bytes").big(stats.bytes);
  out.key("disk_bytes").big(stats.disk_bytes).key("wal_bytes").big(stats.wal_bytes);
  out.key("quarantined").count(stats.quarantined).key("vanished").count(stats.vanished);
  out.key("retired").count(stats.retired).key("retired_bytes").big(stats.retired_bytes);
  if (stats.free_bytes) out.key("free_bytes").big(*stats.free_bytes);
  out.key("read_only").boolean(stats.read_only);
  out.end_object();
  out.key("queries").begin_object();
  out.key("running").count(queries_.running()).key("total").count(queries_.total());
  out.key("refused").count(queries_.refused()).key("timeouts").count(queries_.timeouts());
  out.key("evicted").count(queries_.evicted()).key("parked").count(queries_.parked());
  out.end_object();
  out.key("requests").begin_object();
  out.key("total").count(requests_).key("unauthenticated").count(unauthenticated_);
  out.end_object();
  if (more_status_) more_status_(out);
  out.end_object();
  net::Response response;
  response.body = out.take();
  co_return response;
}

Api::Answer Api::metrics(Call) {
  const StorageStats stats = storage_.stats();
  std::string out;
  metric(out, "lines_total", "counter", stats.lines);
  metric(out, "bytes_total", "counter", stats.bytes);
  metric(out, "shards", "gauge", stats.shards);
  metric(out, "agents", "gauge", agents_.connected());
  metric(out, "disk_bytes", "gauge", stats.disk_bytes);
  metric(out, "wal_bytes", "gauge", stats.wal_bytes);
  metric(out, "queries_refused_total", "counter", queries_.refused());
  metric(out, "query_timeouts_total", "counter", queries_.timeouts());
  metric(out, "queries_evicted_total", "counter", queries_.evicted());
  metric(out, "queries_parked_total", "counter", queries_.parked());
  metric(out, "match_cache_bytes", "gauge", matches_->bytes());
  metric(out, "match_cache_hits_total", "counter", matches_->hits());
  metric(out, "match_cache_misses_total", "counter", matches_->misses());
  metric(out, "requests_total", "counter", requests_);
  queries_.seconds().write(out, "logarithm_aggregator_query_seconds");
  if (more_metrics_) more_metrics_(out);
  net::Response response = plain(200, std::move(out));
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  co_return response;
}

}  // namespace logarithm::aggregator
