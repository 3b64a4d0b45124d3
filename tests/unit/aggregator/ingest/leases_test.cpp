#include "aggregator/ingest/leases.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>

#include "tests/support/manual_clock.h"

namespace logarithm::aggregator::test {

TEST_CASE("LeaseTable: what nobody asks for any more is forgotten, tenants are apart") {
  boost::asio::io_context io;
  logarithm::test::ManualClock clock;
  LeaseTable leases(clock, std::chrono::seconds(45));
  StreamBase one, two;
  one.hi = 1;
  two.hi = 2;
  CHECK(leases.acquire("x", one, "a", false));
  CHECK(leases.acquire("y", one, "b", false));
  CHECK_FALSE(leases.acquire("x", one, "b", false));
  CHECK(leases.size() == 2);
  for (int i = 0; i < 60; ++i) {
    clock.advance(io, std::chrono::seconds(30));
    leases.heard_of("x", "a");
  }
  CHECK(leases.acquire("x", two, "a", false));
  CHECK(leases.size() == 1);
}

}  // namespace logarithm::aggregator::test
