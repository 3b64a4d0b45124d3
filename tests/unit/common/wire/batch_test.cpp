#include "common/wire/batch.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/sample_frames.h"

using namespace logarithm;
using namespace logarithm::wire;

namespace {

std::vector<std::string> encoded_samples() {
  std::vector<std::string> out;
  for (const Frame& frame : test::sample_frames()) out.push_back(encode(frame));
  return out;
}

}  // namespace

TEST_CASE("Batch: gives the frames back, in order") {
  const std::vector<std::string> frames = encoded_samples();
  const std::string message = encode_batch(frames);

  REQUIRE(is_batch(message));
  const auto read = decode_batch(message);

  REQUIRE(read.ok());
  CHECK(std::vector<std::string>(read->begin(), read->end()) == frames);
  for (const std::string& frame : frames) CHECK_FALSE(is_batch(frame));
}

TEST_CASE("Batch: is skipped by who knows frames only") {
  const auto read = decode(encode_batch(encoded_samples()));

  REQUIRE(read.ok());
  CHECK_FALSE(read->has_value());
}

TEST_CASE("Batch: no damage is taken for frames") {
  const std::string message = encode_batch(encoded_samples());
  for (std::size_t at = 0; at < message.size(); ++at) {
    std::string damaged = message;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    CAPTURE(at);
    CHECK_FALSE(decode_batch(damaged).ok());
    CHECK_FALSE(decode_batch(std::string_view(message).substr(0, at)).ok());
  }
}

TEST_CASE("Batch: holds no batch, and no empty frame") {
  CHECK_FALSE(decode_batch(encode_batch({encode_batch(encoded_samples())})).ok());
  CHECK_FALSE(decode_batch(encode_batch({""})).ok());
  CHECK(decode_batch(encode_batch({})).ok());
}

TEST_CASE("Batch: a length beyond the end is damage, with a right checksum too") {
  std::string message = encode_batch({"x"});
  for (const char length : {'\x02', '\x7F', '\xFF'}) {
    message[8] = length;
    test::reseal_frame(message);
    CHECK_FALSE(decode_batch(message).ok());
  }
}
