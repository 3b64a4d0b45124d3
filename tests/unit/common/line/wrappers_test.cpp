#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/common/line/parser_fixture.h"

// What each wrapper says, and what only looks like one.
namespace logarithm {
namespace {

using namespace test;

struct Expected {
  const char* line;
  std::optional<std::int32_t> rank;
  const char* body;
  std::vector<std::pair<const char*, const char*>> meta;
};

void check(const Expected& expected) {
  CAPTURE(expected.line);
  ParsedStream stream;
  const auto& lines = stream.whole(std::string(expected.line) + "\n");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].wrapper_rank == expected.rank);
  CHECK(body_of(lines[0]) == expected.body);
  for (const auto& [key, value] : expected.meta) {
    CAPTURE(key);
    CHECK(meta_text(lines[0], key) == value);
  }
}

// Text that is not unwrapped at all.
void check_plain(std::string_view text) {
  CAPTURE(text);
  ParsedStream stream;
  const auto& lines = stream.whole(std::string(text) + "\n");
  REQUIRE(lines.size() == 1);
  CHECK_FALSE(lines[0].wrapper_rank.has_value());
  CHECK(lines[0].header_begin == 0);
  CHECK(lines[0].transport == 0);
  CHECK(lines[0].output == Output::unset);
  CHECK(text_of(lines[0]) == text);
}

// Values of `formats.jsonl` that are no metadata.
std::string found_value(const Line& line, const std::string& key, const std::string& id) {
  if (key == "body") {
    // What is behind this wrapper, though more are peeled in the line.
    const std::string text =
        plain_of(line).substr(id == "wrap_cri" ? line.text_begin : line.header_begin);
    const std::size_t repeats = text.find(" [repeated ");
    return id == "wrap_ray" && repeats != std::string::npos ? text.substr(0, repeats) : text;
  }
  if (key == "rank") return line.wrapper_rank ? std::to_string(*line.wrapper_rank) : "";
  if (key == "stream" && line.output != Output::unset) {
    return line.output == Output::out ? "stdout" : "stderr";
  }
  return meta_text(line, key);
}

}  // namespace

TEST_CASE("Wrappers: the collected shapes of the world give what is expected of them") {
  std::ifstream file(std::string(LGR_TEST_DATA) + "/data/formats.jsonl");
  std::string row;
  int checked = 0;
  while (std::getline(file, row)) {
    const auto shape = nlohmann::json::parse(row);
    if (shape.at("group") != "wrapper") continue;
    const std::string id = shape.at("id");
    std::string bytes;
    for (const auto& line : shape.at("lines")) bytes += line.get<std::string>() + "\n";
    ParsedStream stream;
    constexpr UnixNanos kLater = kNoon + 12 * 24 * 3600 * kSecond;
    stream.feed(bytes, kLater);
    const auto& lines = stream.close(kLater);
    REQUIRE(lines.size() == shape.at("lines").size());
    CHECK(exported(lines) == bytes);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto& expected = i == 0 ? shape.at("expect") : shape.at("expect_more").at(i - 1);
      for (const auto& [key, value] : expected.items()) {
        CAPTURE(id);
        CAPTURE(i);
        CAPTURE(key);
        ++checked;
        if (key == "ts") {
          CHECK_FALSE(lines[i].has(line_flag::derived_time));
          CHECK(std::abs(lines[i].time - kNoon) < 11 * 24 * 3600 * kSecond);
        } else if (key == "log") {
          CHECK(text_of(lines[i]) == "[rank3]:step \"120\" ok");
        } else if (key == "uptime" && !value.is_null()) {
          CHECK(meta_text(lines[i], key) == value.get<std::string>());
        } else if (!(key == "unit" && id == "wrap_syslog_kernel")) {
          CHECK(found_value(lines[i], key, id) ==
                (value.is_null() ? "" : value.get<std::string>()));
        }
      }
    }
  }
  CHECK(checked > 60);
}

TEST_CASE("Wrappers: neighbours of the collected shapes") {
  const Expected rows[] = {
      {"[rank0]: Traceback (most recent call last):", 0, "Traceback (most recent call last):", {}},
      {"[default3|attempt_1]:x",
       {},
       "x",
       {{"role", "default"}, {"local_rank", "3"}, {"attempt", "1"}}},
      {"[default3 attempt 2]:x", {}, "x", {{"local_rank", "3"}, {"attempt", "2"}}},
      {"[llm7-trainer12]:x", {}, "x", {{"role", "llm7-trainer"}, {"local_rank", "12"}}},
      {"[1,3]<stdout>:x", 3, "x", {{"mpi_job", "1"}}},
      {"[1,3]<stddiag>:x", 3, "x", {{"stream", "stddiag"}}},
      {"[1,3][n017:4711]<stderr>:x", 3, "x", {{"host", "n017"}, {"pid", "4711"}}},
      {"Wed Mar  4 05:06:07 2026[1,3]<stdout>:x", 3, "x", {}},
      {"Wed Mar  4 05:06:07 2026[7]<stderr>:x", 7, "x", {}},
      {"2026-03-04 05:06:07[7]<stderr>:x", 7, "x", {}},
      {"[7]<stdout>:x", 7, "x", {}},
      {"(head, rank=0, pid=3808) x", 0, "x", {{"actor", "head"}, {"pid", "3808"}}},
      {"(worker1, rank=1, pid=2769, ip=10.1.0.12) x", 1, "x", {{"ip", "10.1.0.12"}}},
      {"(worker1, rank=1, ip=10.1.0.12, pid=2769) x", 1, "x", {}},
      {"(setup pid=8665) x", {}, "x", {{"actor", "setup"}}},
      {"(my-task, pid=8665) x", {}, "x", {{"actor", "my-task"}}},
      {"(pid=48213) x", {}, "x", {{"pid", "48213"}}},
      {"(Worker_TP3 pid=48213) x", {}, "x", {{"proc", "Worker_TP3"}}},
      {"(ServeReplica:default:App pid=9) x", {}, "x", {{"actor", "ServeReplica:default:App"}}},
      {"(w pid=9) x [repeated 3x across cluster] (Ray deduplicates logs)",
       {},
       "x [repeated 3x across cluster] (Ray deduplicates logs)",
       {{"repeated", "3"}}},
      {"[pod/llm7-worker-3/pytorch] x",
       {},
       "x",
       {{"pod", "llm7-worker-3"}, {"container", "pytorch"}}},
      {"Mar  4 05:06:07 n017 slurmd[2211]: x",
       {},
       "x",
       {{"host", "n017"}, {"unit", "slurmd"}, {"pid", "2211"}}},
      {"Mar 04 05:06:07.123456 n017 systemd[1]: x", {}, "x", {{"unit", "systemd"}}},
      {"<3>Mar  4 05:06:07 n017 kernel: x", {}, "x", {{"host", "n017"}}},
      {"[    1.250000] x", {}, "x", {{"uptime", "1.250000"}}},
      {"[    1.250000][    T7] x", {}, "x", {}},
      {"<4>[    1.250000] x", {}, "x", {}},
      {"[Wed Mar  4 05:06:07 2026] NVRM: x", {}, "NVRM: x", {}},
      {"2026-03-04T05:06:07.448120903Z stdout F ", {}, "", {{"flag", "F"}}},
      {"2026-03-04T05:06:07Z stderr F:tag x", {}, "x", {}},
      {"trainer/0 [1]:[W socket.cpp:558] x",
       {},
       "x",
       {{"role", "trainer"}, {"replica", "0"}, {"local_rank", "1"}}},
      {"trainer/0 [1]:[rank9]: x", 9, "x", {{"local_rank", "1"}}},
      {"worker-0: worker-0:19491:21059 [7] NCCL INFO x",
       {},
       "NCCL INFO x",
       {{"host", "worker-0"}, {"pid", "19491"}, {"cuda_dev", "7"}}},
      {"10.0.0.2: worker-0:19491:21059 [-1] NCCL INFO x",
       {},
       "NCCL INFO x",
       {{"host", "10.0.0.2"}, {"pid", "19491"}}},
      {"n017: [n017:48213:0:48377] ib_mlx5_log.c:177  x",
       {},
       " x",
       {{"host", "n017"}, {"pid", "48213"}}},
  };
  for (const Expected& row : rows) check(row);
}

TEST_CASE("Wrappers: what looks like one, and is text") {
  for (std::string_view text : {
           "12: text",
           "[12]: https://example.org/reference",
           "[1] Smith, J. et al. (2019)",
           "[rank3] without a colon",
           "[rank]: no number",
           "[rank123456789]: too many digits",
           "[INFO]: x",
           "[E304 but no header",
           "[1,2] and [3,4] are points",
           "[1,3]<stdin>:x",
           "[1,3]<stdout> x",
           "[0.123] seconds",
           "[12.5] x",
           "(see page 12) for more",
           "(pid=abc) x",
           "(x, y) = (1, 2)",
           "(Actor pid=12)without a blank",
           "host: msg",
           "gpu-n017: msg",
           "RuntimeError: [rank3] failed",
           "Error: [1, 2, 3]",
           "INFO: [2026-03-04 05:06:07] x",
           "note: [default] x",
           "March 4 05:06:07 is a time",
           "Mar  4 05:06:07 INFO: x",
           "Mar 44 05:06:07 host unit: x",
           "Monday came",
           "[pod/] x",
           "[pod/name] x",
           "<html> x",
           "<3 you all",
           "{\"log\":\"no docker\"}",
           "{\"log\":\"x\",\"stream\":\"stdout\",\"time\":\"soon\"}",
           "{\"log\":\"x\",\"stream\":\"stdout\",\"time\":\"2026-03-04T05:06:07Z\",\"level\":"
           "\"info\"}",
           "{\"log\":\"x\",\"stream\":\"stdout\",\"time\":\"2026-03-04T05:06:07Z\"} tail",
           "{\"log\":\"open",
           "P1 is a name",
           "P1: x",
           "epoch 3: loss 2",
           "trainer/0 [1] x",
           "a/b [1]: x",
           "1/2 [3]: x",
           "host: other:1:2 x",
           "host: host:1 x",
       }) {
    check_plain(text);
  }
}

TEST_CASE("Wrappers: a log's own time and level are no host and unit") {
  ParsedStream stream;
  const auto& lines = stream.whole("2026-03-04T05:06:07Z ERROR train: boom\n");
  CHECK(lines[0].meta.size() <= 1);
  CHECK(lines[0].severity == Severity::error);
  CHECK(meta_text(lines[0], "host") == "");
}

TEST_CASE("Wrappers: a kernel's level is the line's severity") {
  ParsedStream stream;
  const auto& lines = stream.whole(
      "<2>[    1.250000] a\n<3>[    1.250000] b\n<4>[ 1.250000] c\n<6>[ 1.250000] d\n<7>[ "
      "1.250000] e\n");
  CHECK(lines[0].severity == Severity::fatal);
  CHECK(lines[1].severity == Severity::error);
  CHECK(lines[2].severity == Severity::warning);
  CHECK(lines[3].severity == Severity::info);
  CHECK(lines[4].severity == Severity::debug);
}

TEST_CASE("Wrappers: dmesg -x: facility, level and any form of the time") {
  struct Case {
    std::string_view text;
    Severity severity;
    std::string_view uptime, body;
  };
  const Case cases[] = {
      {"kern  :err   : [  123.456789] NVRM: x", Severity::error, "123.456789", "NVRM: x"},
      {"kern  :err   : [  123.456] NVRM: x", Severity::error, "123.456000", "NVRM: x"},
      {"kern  :emerg : [    0.000001][    T7] x", Severity::fatal, "0.000001", "x"},
      {"kern  :warn  : [Wed Mar  4 05:06:07 2026] x", Severity::warning, "", "x"},
      {"kern  :notice: 2026-03-04T05:06:07,123456+00:00 x", Severity::info, "", "x"},
      {"user  :debug : x", Severity::debug, "", "x"},
      {"authpriv:info  : [  123.456789] x", Severity::info, "123.456789", "x"},
      {"local7:crit  : [  123.456789] x", Severity::fatal, "123.456789", "x"},
      {"kern  :info  : [ice] x", Severity::info, "", "[ice] x"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.text));
    ParsedStream stream;
    const auto& lines = stream.whole(std::string(c.text) + "\n");
    CHECK(lines[0].severity == c.severity);
    CHECK(meta_text(lines[0], "uptime") == c.uptime);
    CHECK_FALSE(meta_text(lines[0], "level").empty());
    CHECK(body_of(lines[0]) == c.body);
    CHECK(text_of(lines[0]) == c.body);
    if (c.uptime.empty() && c.text.size() > 30) CHECK(lines[0].time / kSecond == kNoon / kSecond);
  }
  for (std::string_view text :
       {"kern:err: x", "kern  :error : x", "kernel:err   : x", "kern  :err   :x",
        "model :err   : x", "local8x:err  : x", "kern   :err   : x", "kern  :err: x"}) {
    check_plain(text);
  }
}

TEST_CASE("Wrappers: kernel lines with an uptime lie as far apart as it says") {
  ParsedStream stream;
  const auto& lines = stream.whole(
      "kern  :info  : [  100.500000] a\nkern  :err   : [  130.000000] b\n[  131.250000] c\n");
  CHECK(lines[2].time - lines[1].time >= 0);
  stream.feed("[  141.250000] d\n[  130.250000] e\n", kNoon + 2 * kSecond);
  CHECK(lines[3].time - lines[4].time == 11 * kSecond);
  CHECK(lines[3].has(line_flag::derived_time));
  // A log store's own time is better.
  const auto& stored = stream.feed("Mar  4 05:06:01 n017 kernel: [  150.000000] f\n");
  CHECK(stored.back().time == kNoon - 6 * kSecond);
  CHECK_FALSE(stored.back().has(line_flag::derived_time));
}

TEST_CASE("Wrappers: pdsh: a host that was seen before a DeepSpeed line is known from then on") {
  ParsedStream stream;
  const auto& lines = stream.whole(
      "gpu-n017: early\n"
      "gpu-n017: [2026-03-04 05:06:07,448] [INFO] [launch.py:256:main] process 48213 spawned\n"
      "gpu-n017: later\n"
      "other: later\n");
  CHECK(body_of(lines[0]) == "gpu-n017: early");
  CHECK(meta_text(lines[1], "host") == "gpu-n017");
  CHECK(lines[1].callsite == "launch.py:256");
  CHECK(body_of(lines[2]) == "later");
  CHECK(meta_text(lines[2], "host") == "gpu-n017");
  CHECK(body_of(lines[3]) == "other: later");
}

TEST_CASE("Wrappers: transport wrappers are no part of the text, launchers' prefixes are") {
  ParsedStream stream;
  const auto& lines = stream.whole(
      "2026-03-04T05:06:07.448120903Z stdout F [rank3]:step 120\n"
      "2026-03-04T05:06:07+0000 n017 train[7]: [default3]:x\n"
      "Mar  4 05:06:07 n017 kernel: [512344.682838] NVRM: x\n"
      "[1,3]<stdout>:y\n");
  CHECK(text_of(lines[0]) == "[rank3]:step 120");
  CHECK(text_of(lines[1]) == "[default3]:x");
  CHECK(text_of(lines[2]) == "NVRM: x");
  CHECK(text_of(lines[3]) == "[1,3]<stdout>:y");
}

TEST_CASE("Wrappers: colours around a prefix do not hide it") {
  ParsedStream stream;
  const auto& lines = stream.whole("\x1b[36m(TaskRunner pid=9120)\x1b[0m step:12\n");
  CHECK(body_of(lines[0]) == "step:12");
  CHECK(meta_text(lines[0], "pid") == "9120");
}

TEST_CASE("Wrappers: journalctl -o json: the message is the text, the rest are fields") {
  ParsedStream stream;
  const std::string line =
      R"({"__REALTIME_TIMESTAMP":"1772600760000000","_HOSTNAME":"n017","SYSLOG_IDENTIFIER":"slurmd",)"
      R"("_PID":"2211","PRIORITY":"3","MESSAGE":"[rank3]: a \"b\" \u00e9"})";
  const auto& lines = stream.whole(line + "\n");
  CHECK(lines[0].raw == line);
  CHECK(text_of(lines[0]) == "[rank3]: a \"b\" \xc3\xa9");
  CHECK(body_of(lines[0]) == "a \"b\" \xc3\xa9");
  CHECK(lines[0].wrapper_rank == 3);
  CHECK(lines[0].time == kNoon - 7 * kSecond);
  CHECK(lines[0].severity == Severity::error);
  CHECK(meta_text(lines[0], "host") == "n017");
  CHECK(meta_text(lines[0], "unit") == "slurmd");
  CHECK(meta_text(lines[0], "pid") == "2211");
}

}  // namespace logarithm
