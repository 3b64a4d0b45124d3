#include "common/net/http_text.h"

#include <doctest/doctest.h>

namespace logarithm::net {

TEST_CASE("parse_url: reads host, port and path") {
  auto url = parse_url("http://127.0.0.1:7400/api/v1/jobs?x=1").value();
  CHECK(url.scheme == "http");
  CHECK(url.host == "127.0.0.1");
  CHECK(url.port == 7400);
  CHECK(url.path == "/api/v1/jobs?x=1");
  CHECK(parse_url("ws://[::1]:7400").value().host == "::1");
  CHECK(parse_url("ws://[::1]:7400").value().path == "/");
  CHECK(parse_url("HTTP://localhost").value().port == 80);
  CHECK(parse_url("http://h?q=1").value().path == "/?q=1");
}

TEST_CASE("parse_url: refuses what it cannot use, and says so") {
  for (const char* text : {"", "127.0.0.1:7400", "ftp://x", "http://", "http://:80", "http://h:0",
                           "http://h:70000", "http://h:x", "http://[::1", "http://[::1]x",
                           "http://u:p@h/", "http://h/a b", "http://h/\r\nX: y"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_url(text).ok());
  }
  CHECK(parse_url("https://h").error().message().find("https is not supported") !=
        std::string::npos);
  CHECK(parse_url("wss://h").error().code() == ErrorCode::invalid);
}

TEST_CASE("set_target: decodes path and query in order") {
  Request request;
  REQUIRE(set_target(request, "/api/v1/jobs/a%2Fb/lines?query=%7Bx%3D1%7D&a=1+2&&flag&a=%2B").ok());

  CHECK(request.path == "/api/v1/jobs/a/b/lines");
  REQUIRE(request.query.size() == 4);
  CHECK(request.param("query") == "{x=1}");
  CHECK(request.param("a") == "1 2");
  CHECK(request.param("flag") == "");
  CHECK(request.query[3].second == "+");
  CHECK_FALSE(request.param("none"));
}

TEST_CASE("set_target: refuses torn escapes, NUL and relative targets") {
  for (const char* target : {"/%", "/%2", "/%zz", "/a?b=%", "/a%00b", "a", "*", "", "?x"}) {
    CAPTURE(target);
    Request request;
    CHECK_FALSE(set_target(request, target).ok());
  }
  Request absolute;
  CHECK(set_target(absolute, "http://host:1/p?q=2").ok());
  CHECK(absolute.path == "/p");
}

TEST_CASE("percent_encode: what it writes decodes to the same bytes") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);

  CHECK(percent_decode(percent_encode(all), Part::query).value() == all);
  CHECK(percent_encode("a b&c=d/é") == "a%20b%26c%3Dd%2F%C3%A9");
}

TEST_CASE("response_head: a value cannot add headers of its own") {
  Response response;
  response.headers.emplace_back("X-A", "1\r\nX-Evil: 2");

  const std::string head = response_head(response, "Content-Length: 0", true);

  CHECK(head.find("\r\nX-Evil") == std::string::npos);
  CHECK(head.ends_with("\r\n\r\n"));
}

TEST_CASE("problem_detail: takes the detail of a problem, else the start of the body") {
  CHECK(problem_detail(problem_response(404, "no such job").body) == "no such job");
  CHECK(problem_detail("plain\n") == "plain");
  CHECK(problem_detail(std::string(1000, 'x')).size() == 300);
}

TEST_CASE("has_token: finds a word in a list, whatever its case and blanks") {
  CHECK(has_token("a, Logarithm.V1 ,b", "logarithm.v1"));
  CHECK_FALSE(has_token("logarithm.v10", "logarithm.v1"));
  CHECK_FALSE(has_token("", "x"));
}

}  // namespace logarithm::net
