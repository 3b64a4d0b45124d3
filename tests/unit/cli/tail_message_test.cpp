#include "cli/tail_message.h"

#include <doctest/doctest.h>

namespace logarithm::cli {
namespace {

TEST_CASE("TailMessage: lines are given as the server wrote them") {
  const std::string text =
      R"({"lines":[{"text":"a } \" ] {","id":"1:0"},{"meta":{"x":[1,{"y":2}]}}],"skipped":7,)"
      R"("unreadable":2,"live":true,"cursor":"abc"})";

  const auto message = parse_tail_message(text);

  REQUIRE(message.ok());
  REQUIRE(message->lines.size() == 2);
  CHECK(message->lines[0] == R"({"text":"a } \" ] {","id":"1:0"})");
  CHECK(message->lines[1] == R"({"meta":{"x":[1,{"y":2}]}})");
  CHECK(message->cursor == "abc");
  CHECK(message->live);
  CHECK(message->skipped == 7);
  CHECK(message->unreadable == 2);
}

TEST_CASE("TailMessage: what the server refuses for now is told apart from what it refuses") {
  const auto code = [](const std::string& text) {
    const auto message = parse_tail_message(text);
    REQUIRE(message.ok());
    REQUIRE(message->error);
    return message->error->code();
  };
  CHECK(code(R"({"error":{"status":404,"detail":"no such job"}})") == ErrorCode::not_found);
  CHECK(code(R"({"error":{"status":400,"detail":"bad"}})") == ErrorCode::invalid);
  CHECK(code(R"({"error":{"status":503,"detail":"too many"}})") == ErrorCode::unavailable);
  CHECK(code(R"({"error":{"status":429}})") == ErrorCode::unavailable);
}

TEST_CASE("TailMessage: anything else is an error, cut at any byte") {
  const std::string text = R"({"lines":[{"a":"\\"},{"b":1}],"live":false,"cursor":"x"})";
  REQUIRE(parse_tail_message(text).ok());
  for (std::size_t size = 0; size < text.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(parse_tail_message(text.substr(0, size)).ok());
  }
  CHECK_FALSE(parse_tail_message("[]").ok());
  CHECK_FALSE(parse_tail_message(R"({"lines":[7],"cursor":"x"})").ok());
  CHECK_FALSE(parse_tail_message(R"({"lines":[],"cursor":7})").ok());
}

}  // namespace
}  // namespace logarithm::cli
