#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/net/http.h"

namespace logarithm::aggregator {

// One request on its way to its handler.
struct Call {
  net::Request request;
  std::string capture;  // what the pattern's `{name}` took
  std::string tenant;
};

// (method, path) -> handler. A pattern holds at most one `{name}`, which takes one or more
// characters, slashes too (a job may have them); the pattern with the longest fixed text wins.
class Router {
 public:
  using Handler = std::function<boost::asio::awaitable<net::Response>(Call)>;

  struct Match {
    const Handler* handler = nullptr;
    std::string capture;
  };
  struct WrongMethod {
    std::string allow;
  };
  struct NoSuchPath {};

  void add(std::string method, std::string_view pattern, Handler handler);
  std::variant<Match, WrongMethod, NoSuchPath> find(std::string_view method,
                                                    std::string_view path) const;

 private:
  struct Route {
    std::string method, prefix, suffix;
    bool has_capture = false;
    Handler handler;
    std::optional<std::string> capture_of(std::string_view path) const;
  };
  std::vector<Route> routes_;
};

}  // namespace logarithm::aggregator
