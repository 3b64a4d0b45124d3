#include "common/net/listen_address.h"

#include <doctest/doctest.h>

namespace logarithm::net {

TEST_CASE("Listen address: an IP address and a port, and whether others can reach it") {
  struct Case {
    const char *text, *host;
    std::uint16_t port;
    bool loopback;
  };
  for (const Case& one :
       {Case{"127.0.0.1:7400", "127.0.0.1", 7400, true},
        Case{"localhost:7400", "127.0.0.1", 7400, true}, Case{"127.0.0.5:1", "127.0.0.5", 1, true},
        Case{"[::1]:0", "::1", 0, true}, Case{"0.0.0.0:65535", "0.0.0.0", 65535, false},
        Case{"[::]:7400", "::", 7400, false}, Case{"10.0.0.1:7400", "10.0.0.1", 7400, false}}) {
    CAPTURE(one.text);
    const auto found = parse_listen(one.text);
    REQUIRE(found.ok());
    CHECK(found->host == one.host);
    CHECK(found->port == one.port);
    CHECK(found->loopback == one.loopback);
  }
}

TEST_CASE("Listen address: what no server can listen on is refused, and why is told") {
  const auto told = [](const char* text, const char* what) {
    CAPTURE(text);
    const auto found = parse_listen(text);
    REQUIRE(!found.ok());
    CAPTURE(found.error().message());
    CHECK(found.error().message().find(what) != std::string::npos);
  };
  for (const char* text : {"", ":7400", "7400", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http",
                           "127.0.0.1:-1", "127.0.0.1: 80", "nowhere"}) {
    told(text, "not host:port: ");
    told(text, "as in 127.0.0.1:7400");
  }
  for (const char* text : {"127.0.0.1:65536", "127.0.0.1:99999999999999999999"}) {
    told(text, "is not from 0 to 65535");
  }
  for (const char* text : {"::1:5", "::1", "fe80::1:80"}) told(text, "needs brackets");
  for (const char* text : {"host:7400", "999.1.1.1:80", "127.0.0.1.1:80", "[127.0.0.1]:80", "[]:80",
                           "[::g]:80", "127.0.0.1 :80", "*:80"}) {
    told(text, "is not an IP address");
  }
}

}  // namespace logarithm::net
