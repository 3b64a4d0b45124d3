#include "common/model/model_json.h"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "common/model/json_fields.h"

using namespace logarithm;
using nlohmann::json;

namespace {

ProcessInfo full_process() {
  ProcessInfo process;
  process.job = "run 7";
  process.host = "host003";
  process.pid = 4242;
  process.start = 1'796'000'000'000'000'001;
  process.start_error = 10'000'000;
  process.exit = 1'796'000'100'000'000'000;
  process.exit_error = 5;
  process.exit_status = 9;
  process.last_seen = std::numeric_limits<std::int64_t>::max();
  process.rank = 3;
  process.local_rank = 0;
  process.group_rank = -1;
  process.world_size = 512;
  process.rank_source = "RANK";
  process.launcher = "torchrun";
  process.restart_count = 2;
  process.stated_attempt = 1;
  process.identity = {{"RANK", "3"}, {"LOCAL_RANK", "0"}};
  process.gpus = {{0, "GPU-1", "0000:01:00.0"}, {}};
  process.container = "c";
  process.user = "root";
  process.command = "python3 train.py \"a\"";
  process.not_captured = {{"stdout", "pipe:[123]"}};
  return process;
}

template <typename T>
T through_text(const T& value) {
  json out;
  to_json(out, value);
  T back;
  from_json(json::parse(json_fields::dump(out)), back);
  return back;
}

}  // namespace

TEST_CASE("ModelJson: every member comes back, absent ones stay absent") {
  CHECK(through_text(full_process()) == full_process());
  CHECK(through_text(ProcessInfo{}) == ProcessInfo{});

  StreamAttributes attributes{4,
                              std::numeric_limits<std::uint64_t>::max(),
                              "j",
                              "h/1/2",
                              "h/3/4",
                              1,
                              3,
                              0,
                              "path",
                              "h",
                              "stdout",
                              {"stderr"},
                              {"/a", "/b"},
                              {{"pod", "p"}}};
  CHECK(through_text(attributes) == attributes);
  CHECK(through_text(StreamAttributes{}) == StreamAttributes{});

  const Gap closed{10, 20, "nul_hole", -5};
  const Gap open{10, std::nullopt, "deleted", 7};
  CHECK(through_text(closed) == closed);
  CHECK(through_text(open) == open);

  const StoredGeneration generation{2,
                                    std::string("h\0\xFF", 3),
                                    {{0, 10}, {12, ~std::uint64_t{0}}},
                                    0xFFFFFFFFu,
                                    true,
                                    9,
                                    {{10, 12}}};
  CHECK(through_text(generation) == generation);
  CHECK(through_text(StoredGeneration{}) == StoredGeneration{});
}

TEST_CASE("ModelJson: unknown keys are ignored, missing keys without a default are refused") {
  Gap gap;
  from_json(json::parse(R"({"from":1,"reason":"x","later":[{}]})"), gap);
  CHECK(gap == Gap{1, std::nullopt, "x", 0});
  CHECK_THROWS_AS(from_json(json::parse(R"({"from":1})"), gap), json::exception);
  ProcessInfo process;
  CHECK_THROWS_AS(from_json(json::parse(R"({"job":"j"})"), process), json::exception);
  CHECK_THROWS_AS(from_json(json::parse("[]"), process), json::exception);
}

TEST_CASE("ModelJson: a number that does not fit or has another type is refused, never cut") {
  ProcessInfo process;
  for (const char* pid :
       {"4294967296", "-2147483649", "1.5", "\"1\"", "true", "null", "18446744073709551615"}) {
    CAPTURE(pid);
    const json in =
        json::parse(std::string(R"({"job":"j","host":"h","start":1,"pid":)") + pid + "}");
    CHECK_THROWS_AS(from_json(in, process), json::exception);
  }
  Gap gap;
  CHECK_THROWS_AS(from_json(json::parse(R"({"from":-1,"reason":"x"})"), gap), json::exception);
}

TEST_CASE("ModelJson: commands that are not UTF-8 are written with U+FFFD") {
  ProcessInfo process;
  process.command =
      "a\xFF"
      "b";
  CHECK(through_text(process).command ==
        "a\xEF\xBF\xBD"
        "b");
}

TEST_CASE("ModelJson: text nested too deeply is refused before it can hurt") {
  const std::string deep = "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  CHECK_THROWS_AS(json_fields::parse(deep), json::exception);
  CHECK_THROWS_AS(json_fields::parse("[1]"), json::exception);
  CHECK_THROWS_AS(json_fields::parse("{"), json::exception);
  CHECK(json_fields::parse("{\"a\":[[1]]}")["a"][0][0] == 1);
}

TEST_CASE("ModelJson: hex is exact both ways and refuses everything else") {
  const std::string bytes("\x00\x7F\x80\xFFz", 5);
  CHECK(to_hex(bytes) == "007f80ff7a");
  CHECK(from_hex("007F80ff7a").value() == bytes);
  CHECK_FALSE(from_hex("0").ok());
  CHECK_FALSE(from_hex("0g").ok());
}
