#include "aggregator/http/router.h"

#include <doctest/doctest.h>

namespace logarithm::aggregator {
namespace {

boost::asio::awaitable<net::Response> nothing(Call) { co_return net::Response(); }

std::string captured(const Router& router, std::string_view path) {
  auto found = router.find("GET", path);
  auto* match = std::get_if<Router::Match>(&found);
  return match == nullptr ? "(none)" : match->capture;
}

}  // namespace

TEST_CASE("Router: the longest fixed text wins, and a capture may hold slashes") {
  Router router;
  router.add("GET", "/jobs", nothing);
  router.add("GET", "/jobs/{job}", nothing);
  router.add("GET", "/jobs/{job}/lines", nothing);
  CHECK(captured(router, "/jobs") == "");
  CHECK(captured(router, "/jobs/x") == "x");
  CHECK(captured(router, "/jobs/x/lines") == "x");
  CHECK(captured(router, "/jobs/a/b/lines") == "a/b");
  CHECK(captured(router, "/jobs/") == "(none)");
  CHECK(captured(router, "/jobs//lines") == "/lines");
  CHECK(captured(router, "/job") == "(none)");
}

TEST_CASE("Router: another method is told which one works") {
  Router router;
  router.add("GET", "/jobs", nothing);
  auto found = router.find("POST", "/jobs");
  REQUIRE(std::holds_alternative<Router::WrongMethod>(found));
  CHECK(std::get<Router::WrongMethod>(found).allow == "GET, HEAD");
}

}  // namespace logarithm::aggregator
