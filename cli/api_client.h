#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/filters.h"
#include "cli/runner.h"
#include "common/net/http.h"

namespace logarithm::cli {

// The REST interface of one aggregator. A status of 400 and more is an Error with the detail that
// the server gave.
class ApiClient {
 public:
  ApiClient(Runner& runner, net::Url server, std::string token)
      : runner_(runner), server_(std::move(server)), token_(std::move(token)) {}

  // `path` is percent-encoded already.
  Result<std::string> get(const std::string& path, const Params& params);
  // The same with the headers of the answer.
  Result<net::Response> get_response(const std::string& path, const Params& params);
  // PUT or DELETE.
  Status send(const std::string& method, const std::string& path, const Params& params,
              std::string body);
  // Gives the body to `sink` as it comes; `sink` returns false to stop. The Response has the
  // headers.
  Result<net::Response> stream(const std::string& path, const Params& params,
                               const std::string& accept,
                               std::function<bool(std::string_view)> sink);

 private:
  Result<net::Url> target(const std::string& path, const Params& params) const;

  Runner& runner_;
  net::Url server_;
  std::string token_;
};

}  // namespace logarithm::cli
