#include "aggregator/http/problem.h"

#include "aggregator/http/json_text.h"

namespace logarithm::aggregator {
namespace {

std::string_view title_of(int status) {
  switch (status) {
    case 400: return "Bad request";
    case 401: return "Not authenticated";
    case 403: return "Forbidden";
    case 404: return "Not found";
    case 405: return "Method not allowed";
    case 413: return "Too large";
    case 429: return "Too many requests";
    case 499: return "Cancelled";
    case 503: return "Not now";
    case 504: return "Deadline passed";
    default: return "Internal error";
  }
}

}  // namespace

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found: return 404;
    case ErrorCode::invalid: return 400;
    case ErrorCode::too_large: return 413;
    case ErrorCode::timeout: return 504;
    case ErrorCode::unavailable: return 503;
    case ErrorCode::cancelled: return 499;
    case ErrorCode::corrupt:
    case ErrorCode::io:
    case ErrorCode::no_space:
    case ErrorCode::conflict: return 500;
  }
  return 500;
}

std::string problem_text(int status, std::string_view detail, std::optional<std::size_t> position,
                         std::string_view parameter) {
  JsonWriter out;
  out.begin_object();
  out.key("type").string("about:blank");
  out.key("title").string(title_of(status));
  out.key("status").integer(status);
  out.key("detail").string(detail);
  if (!parameter.empty()) out.key("parameter").string(parameter);
  if (position) out.key("position").count(*position);
  out.end_object();
  return out.take();
}

net::Response problem(int status, std::string_view detail, std::optional<std::size_t> position,
                      std::string_view parameter) {
  net::Response response;
  response.status = status;
  response.content_type = "application/problem+json";
  response.body = problem_text(status, detail, position, parameter);
  if (status == 503 || status == 429) response.headers.emplace_back("Retry-After", "1");
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

net::Response problem_of(const Error& error) {
  return problem(status_of(error.code()), error.message());
}

net::Response too_many_queries() {
  return problem(503, "too many queries are running; try again in a moment");
}

}  // namespace logarithm::aggregator
