#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "agent/uplink/uplink.h"

namespace logarithm::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kAgents = 1000;
constexpr milliseconds kBin{100};

struct Storm {
  double peak_to_mean = 0;
  nanoseconds all_back{0};  // after the server
};

// A fleet that lost its server at 0 and can reach it again from `down` on; `told` is what the
// server's goodbye says (as Uplink::run() adds it up).
Storm reconnect(nanoseconds down, nanoseconds told, std::uint64_t seed) {
  const UplinkOptions options;
  std::vector<nanoseconds> back;
  for (std::size_t agent = 0; agent < kAgents; ++agent) {
    Backoff backoff(options.backoff_base, options.backoff_cap, seed * kAgents + agent);
    nanoseconds at = told + backoff.next();
    while (at < down) at += backoff.next();
    back.push_back(at);
  }
  std::map<std::int64_t, std::size_t> connects;
  for (const nanoseconds at : back) ++connects[at / kBin];
  std::size_t peak = 0;
  for (const auto& [bin, count] : connects) peak = std::max(peak, count);
  const std::int64_t bins = connects.rbegin()->first - connects.begin()->first + 1;
  Storm out;
  out.peak_to_mean = static_cast<double>(peak) * static_cast<double>(bins) / kAgents;
  out.all_back = *std::max_element(back.begin(), back.end()) - down;
  return out;
}

}  // namespace

TEST_CASE("case 73: a fleet of 1,000 comes back with a peak under three times the mean") {
  for (const int down : {0, 100, 500, 1000, 2000, 3000, 5000, 7000, 10'000, 30'000, 600'000}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      CAPTURE(down);
      CAPTURE(seed);
      const Storm storm = reconnect(milliseconds(down), nanoseconds(0), seed);
      CHECK(storm.peak_to_mean < 3.0);
      CHECK(storm.all_back <= milliseconds(16'000));
    }
  }
}

TEST_CASE("case 73: a fleet that is told when to come back does not come at that very moment") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    CHECK(reconnect(nanoseconds(0), milliseconds(1000), seed).peak_to_mean < 3.0);
    CHECK(reconnect(milliseconds(5000), milliseconds(1000), seed).peak_to_mean < 3.0);
  }
}

}  // namespace logarithm::agent
