#include "aggregator/http/endpoints.h"

#include "aggregator/query/filters.h"

namespace logarithm::aggregator {
namespace {

constexpr std::string_view kGet = "GET", kPut = "PUT", kDelete = "DELETE";

std::vector<Endpoint> table() {
  const Parameter limit{"limit", "how many at most"};
  const Parameter direction{"direction", "forward or backward in time"};
  const Parameter cursor{"cursor", "`next` of the page before"};
  const Parameter metric{"metric", "name of a series, or several with commas"};
  return {
      {kGet, "/api/v1/jobs", "All jobs of the tenant."},
      {kGet, "/api/v1/jobs/{job}", "One job."},
      {kGet,
       "/api/v1/jobs/{job}/lines",
       "Lines, a page at a time; all of them with Accept: application/x-ndjson.",
       true,
       {{"limit", "lines of a page: 100, at most 10000"}, direction, cursor}},
      {kGet, "/api/v1/jobs/{job}/count", "How many lines.", true},
      {kGet,
       "/api/v1/jobs/{job}/histogram",
       "How many lines per bucket.",
       true,
       {{"by", "time, iteration, rank, host, severity, callsite or template"},
        {"step", "width of a bucket: a duration for time, a number for iteration"},
        limit}},
      {kGet,
       "/api/v1/jobs/{job}/fields",
       "What metadata there is: types, counts, frequent values.",
       true,
       {{"top", "values per field: 10, at most 1000"}}},
      {kGet,
       "/api/v1/jobs/{job}/callsites",
       "Which places in the program log, how much, on which ranks.",
       true,
       {limit}},
      {kGet,
       "/api/v1/jobs/{job}/streams",
       "Streams with their files, ranges, gaps.",
       false,
       {{"attempt", "of this attempt"},
        {"rank", "ranks like 0-7,16"},
        {"host", "of this host"},
        {"stream", "stdout, stderr, or a file's name"}}},
      {kGet, "/api/v1/jobs/{job}/processes", "Processes: rank, host, pid, start, exit."},
      {kGet,
       "/api/v1/jobs/{job}/raw",
       "The exact bytes of one stream.",
       false,
       {{"stream_id", "id of the stream"},
        {"from", "whole lines that begin at this offset or behind it"},
        {"to", "… and before this one"}}},
      {kGet,
       "/api/v1/jobs/{job}/compare",
       "Which ranks depart from the others; two ranks side by side; two runs.",
       true,
       {{"ranks", "two ranks like 0,3, or all"},
        {"peers", "who is compared with whom"},
        limit,
        {"context", "rows around each difference"},
        {"first", "true: only the first iteration that differs"},
        {"against_attempt", "another attempt"},
        {"against_job", "another job"}}},
      {kGet,
       "/api/v1/jobs/{job}/correlate",
       "Lines or points of one kind that follow those of another.",
       true,
       {{"first", "LogQL of the first"},
        {"then", "LogQL of what follows"},
        {"by", "rank, host or gpu"},
        {"within", "2i (iterations) or 30s"},
        limit}},
      {kGet,
       "/api/v1/jobs/{job}/triage",
       "The verdict: which rank broke, when and why, with evidence.",
       false,
       {{"attempt", "the newest unless stated"}}},
      {kGet,
       "/api/v1/jobs/{job}/telemetry/series",
       "Min, max, mean and last of a metric per bucket of iterations.",
       true,
       {metric, {"buckets", "how many at most"}, {"step", "iterations of a bucket"}}},
      {kGet,
       "/api/v1/jobs/{job}/telemetry/points",
       "The points themselves.",
       true,
       {metric, limit, direction, cursor}},
      {kGet, "/api/v1/jobs/{job}/suppressions",
       "Lists of what to hide: the job's and the tenant's."},
      {kPut,
       "/api/v1/jobs/{job}/suppressions",
       "Stores a list of the job.",
       false,
       {},
       false,
       "the list: a name, and call sites or templates",
       "204"},
      {kDelete,
       "/api/v1/jobs/{job}/suppressions",
       "Removes a list of the job.",
       false,
       {{"name", "of the list"}},
       false,
       {},
       "204"},
      {kGet, "/api/v1/suppressions", "The tenant's lists of what to hide."},
      {kPut,
       "/api/v1/suppressions",
       "Stores a list of the tenant.",
       false,
       {},
       false,
       "the list: a name, and call sites or templates",
       "204"},
      {kDelete,
       "/api/v1/suppressions",
       "Removes a list of the tenant.",
       false,
       {{"name", "of the list"}},
       false,
       {},
       "204"},
      {kGet,
       "/api/v1/context",
       "Lines around a line, without filters.",
       false,
       {{"id", "of the line"},
        {"before", "lines before it: 10"},
        {"after", "lines after it: 10"},
        {"all_ranks", "true: of all ranks, by time"}}},
      {kGet,
       "/api/v1/tail",
       "Live lines, from a cursor on.",
       true,
       {{"job", "which job"},
        {"cursor", "of the last message; `follows`: messages carry one"},
        {"max_behind", "a slow reader is moved on when it is later than this"}},
       true},
      {kGet, "/api/v1/ingest", "Agents (subprotocol logarithm.v1).", false, {}, true},
      {kGet, "/api/v1/status",
       "Agents, lag per stream, shards, queues, what is not captured and why."},
      {kGet, "/api/v1/openapi.json", "All of this for programs: OpenAPI."},
      {kGet, "/", "What this is and what it answers, as text."},
      {kGet, "/healthz", "200 while the program runs."},
      {kGet, "/readyz", "200 while requests are served; 503 at start and end."},
      {kGet, "/metrics", "Metrics in Prometheus' text form."},
  };
}

}  // namespace

const std::vector<Endpoint>& endpoints() {
  static const std::vector<Endpoint> kTable = table();
  return kTable;
}

const Endpoint* find_endpoint(std::string_view method, std::string_view path) {
  for (const Endpoint& endpoint : endpoints()) {
    if (endpoint.method == method && endpoint.path == path) return &endpoint;
  }
  return nullptr;
}

std::vector<std::string_view> parameter_names(const Endpoint& endpoint) {
  std::vector<std::string_view> out;
  for (const Parameter& parameter : endpoint.parameters) out.push_back(parameter.name);
  if (endpoint.filters) {
    out.insert(out.end(), filter_parameters().begin(), filter_parameters().end());
  }
  return out;
}

}  // namespace logarithm::aggregator
