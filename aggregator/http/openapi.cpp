#include <nlohmann/json.hpp>

#include "aggregator/http/endpoints.h"
#include "aggregator/query/filters.h"

namespace logarithm::aggregator {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kSuppress = "suppress";

std::string_view filter_text(std::string_view name) {
  static constexpr Parameter kFilters[] = {
      {"query", "LogQL pipeline"},
      {"start", "from here: RFC 3339, nanoseconds since the epoch, or -15m"},
      {"end", "before here"},
      {"attempt", "attempts like 0-2; all unless stated"},
      {"rank", "ranks like 0-7,16"},
      {"iteration", "iterations like 1200..1300"},
      {"severity", "at least: debug, info, warning, error, fatal"},
      {"grep", "RE2 that the text contains"},
      {"not_grep", "RE2 that it does not contain"},
      {"callsite", "file:line"},
      {"not_callsite", "not from this file:line"},
      {"stream", "stdout, stderr, or a file's name"},
      {"host", "host's name"},
      {kSuppress, "a stored list of what to hide"}};
  for (const Parameter& one : kFilters) {
    if (one.name == name) return one.what;
  }
  return {};
}

OrderedJson parameter_of(std::string_view name, std::string_view what, std::string_view in) {
  OrderedJson out;
  out["name"] = name;
  out["in"] = in;
  if (in == "path") out["required"] = true;
  if (!what.empty()) out["description"] = what;
  out["schema"]["type"] = "string";
  return out;
}

OrderedJson operation_of(const Endpoint& endpoint) {
  OrderedJson out;
  out["summary"] = endpoint.what;
  OrderedJson& parameters = out["parameters"] = OrderedJson::array();
  const auto open = endpoint.path.find('{'), close = endpoint.path.find('}');
  if (open != std::string_view::npos) {
    const std::string_view name = endpoint.path.substr(open + 1, close - open - 1);
    parameters.push_back(parameter_of(name, "id of the job; it may hold slashes", "path"));
  }
  for (const Parameter& one : endpoint.parameters) {
    parameters.push_back(parameter_of(one.name, one.what, "query"));
  }
  if (endpoint.filters) {
    for (const std::string_view name : filter_parameters()) {
      parameters.push_back(parameter_of(name, filter_text(name), "query"));
    }
    parameters.push_back(parameter_of(kSuppress, filter_text(kSuppress), "query"));
  }
  if (!endpoint.body.empty()) {
    out["requestBody"]["required"] = true;
    out["requestBody"]["content"]["application/json"]["schema"]["description"] = endpoint.body;
  }
  OrderedJson& responses = out["responses"];
  if (endpoint.websocket) {
    responses["101"]["description"] = "a WebSocket";
  } else {
    responses[std::string(endpoint.success)]["description"] = "the answer";
  }
  responses["default"]["description"] = "what is wrong, and where";
  responses["default"]["content"]["application/problem+json"]["schema"]["type"] = "object";
  return out;
}

std::string lower(std::string_view method) {
  std::string out(method);
  for (char& c : out) c = static_cast<char>(c | 0x20);
  return out;
}

}  // namespace

std::string openapi_document() {
  OrderedJson out;
  out["openapi"] = "3.1.0";
  out["info"]["title"] = "Logarithm";
  out["info"]["version"] = LGR_VERSION;
  for (const Endpoint& endpoint : endpoints()) {
    out["paths"][std::string(endpoint.path)][lower(endpoint.method)] = operation_of(endpoint);
  }
  OrderedJson& scheme = out["components"]["securitySchemes"]["token"];
  scheme["type"] = "http";
  scheme["scheme"] = "bearer";
  scheme["description"] = "needed when the aggregator has tokens";
  OrderedJson needed = OrderedJson::object();
  needed["token"] = OrderedJson::array();
  out["security"] = OrderedJson::array({OrderedJson::object(), needed});
  return out.dump(1);
}

}  // namespace logarithm::aggregator
