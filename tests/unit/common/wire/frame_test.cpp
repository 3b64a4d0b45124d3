#include "common/wire/frame.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/sample_frames.h"

using namespace logarithm;
using namespace logarithm::wire;

namespace {

// A control frame around a payload, sealed.
std::string frame_of(std::uint8_t type, std::string_view payload) {
  std::string out(8, '\0');
  out[0] = static_cast<char>(type);
  out += payload;
  test::reseal_frame(out);
  return out;
}

template <typename Message>
Message round_trip(const Message& message) {
  const auto decoded = decode(encode(message));
  REQUIRE(decoded.ok());
  REQUIRE(decoded->has_value());
  REQUIRE(std::holds_alternative<Message>(**decoded));
  return std::get<Message>(**decoded);
}

const std::string kStream = "0123456789abcdefffffffffffffffff.7";

}  // namespace

TEST_CASE("Frame: decoding what was encoded and encoding it again gives the same bytes") {
  std::uint8_t type = 0;
  for (const Frame& frame : test::sample_frames()) {
    const std::string bytes = encode(frame);
    CAPTURE(type);
    REQUIRE(static_cast<std::uint8_t>(bytes[0]) == ++type);
    const auto decoded = decode(bytes);
    REQUIRE_MESSAGE(decoded.ok(), decoded.error().to_string());
    REQUIRE(decoded->has_value());
    REQUIRE((*decoded)->index() == frame.index());
    CHECK(encode(**decoded) == bytes);
  }
  CHECK(type == std::variant_size_v<Frame>);
}

TEST_CASE("Frame: members survive exactly") {
  const auto frames = test::sample_frames();
  const auto& info = std::get<StreamInfo>(frames[2]);
  const StreamInfo info_back = round_trip(info);
  CHECK(info_back.stream == info.stream);
  CHECK(info_back.attributes == info.attributes);
  CHECK(info_back.head == info.head);
  CHECK(info_back.predecessor == info.predecessor);
  const auto& processes = std::get<Processes>(frames[3]);
  CHECK(round_trip(processes).processes == processes.processes);
  const auto& templates = std::get<Templates>(frames[4]);
  CHECK(round_trip(templates).templates == templates.templates);
  const auto& block = std::get<wire::Block>(frames[5]);
  const wire::Block block_back = round_trip(block);
  CHECK(block_back.stream == block.stream);
  CHECK(block_back.job == block.job);
  CHECK(block_back.first == block.first);
  CHECK(block_back.end == block.end);
  CHECK(block_back.bytes == block.bytes);
  const auto& state = std::get<StreamState>(frames[11]);
  CHECK(round_trip(state).generations == state.generations);
  const auto& refuse = std::get<Refuse>(frames[13]);
  CHECK(round_trip(refuse).code == refuse.code);
  CHECK(round_trip(refuse).templates == refuse.templates);
  const auto& beat = std::get<Heartbeat>(frames[8]);
  CHECK(round_trip(beat).streams.at(0).size == ~std::uint64_t{0});
  CHECK(round_trip(beat).not_captured.at(0).reason == "pipe");
}

TEST_CASE("Frame: a type of a later version is skipped, type 0 and short frames are corrupt") {
  const auto later = decode(frame_of(200, "anything"));
  REQUIRE(later.ok());
  CHECK_FALSE(later->has_value());
  CHECK(decode(frame_of(0, "{}")).error().code() == ErrorCode::corrupt);
  CHECK(decode("").error().code() == ErrorCode::corrupt);
  CHECK(decode("\x01\x01\x01").error().code() == ErrorCode::corrupt);
}

TEST_CASE("Frame: one flipped bit anywhere is found") {
  const std::string good = encode(test::sample_frames()[12]);
  for (std::size_t i = 0; i < good.size() * 8; ++i) {
    std::string bad = good;
    bad[i / 8] = static_cast<char>(bad[i / 8] ^ (1 << (i % 8)));
    CAPTURE(i);
    REQUIRE_FALSE(decode(bad).ok());
  }
}

TEST_CASE("Frame: unknown keys are ignored, missing keys take defaults where there is one") {
  const auto decoded = decode(frame_of(1, R"({"protocol":1,"block_version":3,"new":{"x":[1]}})"));
  REQUIRE(decoded.ok());
  CHECK(std::get<Hello>(**decoded).block_version == 3);
  CHECK(std::get<Hello>(**decoded).token.empty());
  CHECK(decode(frame_of(10, "{}")).error().code() == ErrorCode::corrupt);
  CHECK(decode(frame_of(7, R"({"stream":")" + kStream + R"(","size":1})")).error().code() ==
        ErrorCode::corrupt);
}

TEST_CASE("Frame: payloads of wrong type, range or form are corrupt") {
  const char* payloads[] = {
      "",
      "[]",
      "{",
      "null",
      R"({"id":-1})",
      R"({"id":"1"})",
      R"({"id":1.5})",
      R"({"id":18446744073709551616})",
  };
  for (const char* payload : payloads) {
    CAPTURE(payload);
    CHECK(decode(frame_of(10, payload)).error().code() == ErrorCode::corrupt);
  }
  CHECK(decode(frame_of(2, R"({"base":"xyz","job":"j"})")).error().code() == ErrorCode::corrupt);
  const std::string deep =
      "{\"id\":1,\"x\":" + std::string(5000, '[') + std::string(5000, ']') + "}";
  CHECK(decode(frame_of(10, deep)).error().code() == ErrorCode::corrupt);
  CHECK(decode(std::string(kMaxFrame + 1, 'x')).error().code() == ErrorCode::too_large);
}

TEST_CASE("Frame: a refusal with a code of a later version still says whether to retry") {
  for (const int code : {30, 99}) {
    const auto decoded = decode(frame_of(14, R"({"stream":")" + kStream +
                                                 R"(","job":"j","first":0,"end":1,"code":)" +
                                                 std::to_string(code) + "}"));
    REQUIRE(decoded.ok());
    const auto& refuse = std::get<Refuse>(**decoded);
    CHECK(is_retryable(refuse.code) == (code == 30));
    CHECK(to_string(refuse.code) == "unknown");
  }
  CHECK(to_string(RefuseCode::unknown_template) == "unknown_template");
}
