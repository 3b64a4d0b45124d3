#include "cli/api_client.h"

#include "common/net/client.h"
#include "common/net/http_text.h"

namespace logarithm::cli {
namespace {

// A page of lines as JSON may be large; a longer answer is streamed.
constexpr std::size_t kMostAnswer = 1u << 30;
// A query may think for long before its first byte.
constexpr std::chrono::minutes kIdle(10);

net::ClientOptions client_options(const std::string& token) {
  net::ClientOptions options;
  options.token = token;
  options.max_message = kMostAnswer;
  options.idle_timeout = kIdle;
  return options;
}

Result<net::Response> checked(Result<net::Response> answer) {
  if (!answer.ok() || answer->status < 400) return answer;
  std::string detail = net::problem_detail(answer->body);
  if (detail.empty()) detail = net::reason_phrase(answer->status);
  ErrorCode code = ErrorCode::invalid;
  if (answer->status == 404) code = ErrorCode::not_found;
  if (answer->status >= 500 || answer->status == 429) code = ErrorCode::unavailable;
  // A refused token is no word of the command line that is wrong.
  if (answer->status == 401 || answer->status == 403) code = ErrorCode::io;
  detail += " (" + std::to_string(answer->status) + ")";
  if (detail.starts_with("no such job")) detail += "; `logarithm jobs` lists them";
  return Error(code, detail);
}

// Without an answer: where the server was looked for, and who said so.
Result<net::Response> reached(Result<net::Response> answer) {
  if (answer.ok() || answer.error().message().find("connect to ") == std::string::npos) {
    return answer;
  }
  return Error(answer.error().code(),
               answer.error().message() +
                   ". Is the aggregator there? --server or LOGARITHM_SERVER name another");
}

}  // namespace

Result<net::Url> ApiClient::target(const std::string& path, const Params& params) const {
  net::Url url = server_;
  if (url.scheme != "http") return Error(ErrorCode::invalid, "--server must be an http:// URL");
  while (url.path.ends_with('/')) url.path.pop_back();  // a prefix in front of our paths
  url.path += path + query_text(params);
  return url;
}

Result<std::string> ApiClient::get(const std::string& path, const Params& params) {
  LGR_TRY(net::Response answer, get_response(path, params));
  return std::move(answer.body);
}

Result<net::Response> ApiClient::get_response(const std::string& path, const Params& params) {
  LGR_TRY(net::Url url, target(path, params));
  auto request = net::http_request(std::move(url), "GET", net::Headers(), std::string(),
                                   client_options(token_));
  return checked(reached(runner_.run(std::move(request))));
}

Status ApiClient::send(const std::string& method, const std::string& path, const Params& params,
                       std::string body) {
  LGR_TRY(net::Url url, target(path, params));
  auto request = net::http_request(std::move(url), method, net::Headers(), std::move(body),
                                   client_options(token_));
  LGR_TRY([[maybe_unused]] net::Response answer, checked(reached(runner_.run(std::move(request)))));
  return {};
}

Result<net::Response> ApiClient::stream(const std::string& path, const Params& params,
                                        const std::string& accept,
                                        std::function<bool(std::string_view)> sink) {
  LGR_TRY(net::Url url, target(path, params));
  net::Headers headers;
  if (!accept.empty()) headers.emplace_back("Accept", accept);
  auto request =
      net::http_stream(std::move(url), std::move(headers), client_options(token_), std::move(sink));
  return checked(reached(runner_.run(std::move(request))));
}

}  // namespace logarithm::cli
