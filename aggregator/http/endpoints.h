#pragma once

#include <string>
#include <string_view>
#include <vector>

// The REST interface of contract.md as data: what the router serves, what a request may ask, and
// what /api/v1/openapi.json says of both. An operation is a row here and a handler in api.cpp.
namespace logarithm::aggregator {

struct Parameter {
  std::string_view name, what;
};

struct Endpoint {
  std::string_view method, path;  // at most one {name} in the path
  std::string_view what;          // one sentence
  bool filters = false;           // takes filter_parameters(), and `suppress`
  std::vector<Parameter> parameters{};
  bool websocket = false;
  std::string_view body{};  // what a request brings, if it brings something
  std::string_view success{"200"};
};

// In the order in which they are documented. Any thread.
const std::vector<Endpoint>& endpoints();
// Null when there is none.
const Endpoint* find_endpoint(std::string_view method, std::string_view path);
// The names of all parameters that it takes; `suppress` is expanded before.
std::vector<std::string_view> parameter_names(const Endpoint& endpoint);

// OpenAPI 3.1, for programs that make clients.
std::string openapi_document();

}  // namespace logarithm::aggregator
