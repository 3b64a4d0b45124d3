#include <doctest/doctest.h>

#include <random>
#include <string>

#include "common/wire/frame.h"
#include "tests/support/mutate.h"
#include "tests/support/sample_frames.h"

using namespace logarithm;

TEST_CASE("Frame: 10,000 mutations with the checksum made right never crash the decoder") {
  const std::uint64_t seed = 20261130;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto frames = test::sample_frames();
  std::size_t decoded = 0;
  std::size_t refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string bytes = wire::encode(frames[random() % frames.size()]);
    test::mutate(bytes, random);
    test::reseal_frame(bytes);
    const auto result = wire::decode(bytes);
    if (!result.ok()) {
      ++refused;
      continue;
    }
    if (!result->has_value()) continue;
    // What was accepted is a frame like any other: it can be written and read again.
    ++decoded;
    REQUIRE(wire::decode(wire::encode(**result)).ok());
  }
  CHECK(decoded > 100);
  CHECK(refused > 100);
}
