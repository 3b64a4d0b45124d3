#include "common/line/log_header.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "common/line/header_reader.h"
#include "tests/unit/common/line/header_shape.h"

namespace logarithm {

TEST_CASE("Log header: the usual loggers' shapes") {
  struct Case {
    std::string_view text;
    Severity severity;
    std::string_view file, line, body;
    bool timed;
  };
  const Case cases[] = {
      {"E0304 05:06:07.448120 48213 trainer.cc:211] cuDNN init failed", Severity::error,
       "trainer.cc", "211", "cuDNN init failed", true},
      {"I20260304 05:06:07.448120 48213 loader.cc:88] shard 7", Severity::info, "loader.cc", "88",
       "shard 7", true},
      {"E0304 05:06:07.448120    2211 kubelet.go:2855] \"x\"", Severity::error, "kubelet.go",
       "2855", "\"x\"", true},
      {"V0304 05:06:07.448000 48213 torch/_dynamo/x.py:956] [0/0] TRACE", Severity::debug,
       "torch/_dynamo/x.py", "956", "[0/0] TRACE", true},
      {"[W304 05:06:07.448120903 TCPStore.cpp:115] [c10d] recv", Severity::warning, "TCPStore.cpp",
       "115", "[c10d] recv", true},
      {"[E ProcessGroupNCCL.cpp:458] [Rank 7] text", Severity::error, "ProcessGroupNCCL.cpp", "458",
       "[Rank 7] text", false},
      {"2026-03-04 05:06:07,448 INFO train.py:88] msg", Severity::info, "train.py", "88", "msg",
       true},
      {"2026-03-04 05:06:07,448 ERROR trainer.py:88 [rank 3] msg", Severity::error, "trainer.py",
       "88", "[rank 3] msg", true},
      {"2026-03-04 05:06:07,448 - trainer.loop - WARNING - spike", Severity::warning, "", "",
       "spike", true},
      {"2026-03-04 05:06:07,448 - INFO - ready", Severity::info, "", "", "ready", true},
      {"[titan] 2026-03-04 05:06:07,448 - root - INFO - Building", Severity::info, "", "",
       "Building", true},
      {"2026-03-04 05:06:07.448 | SUCCESS  | __main__:<module>:12 - done", Severity::info,
       "__main__", "12", "done", true},
      {"2026-03-04 05:06:07.448120: I external/xla/service.cc:152] XLA", Severity::info,
       "external/xla/service.cc", "152", "XLA", true},
      {"2026-03-04 05:06:07 started", Severity::unset, "", "", "started", true},
      {"[2026-03-04 05:06:07,448] [INFO] [logging.py:107:log_dist] [Rank 0] x", Severity::info,
       "logging.py", "107", "[Rank 0] x", true},
      {"[2026-03-04 05:06:07,448] torch.distributed.run: [WARNING] ***", Severity::warning, "", "",
       "***", true},
      {"[2026-03-04 05:06:07,448] [0/0] torch._dynamo.x: [DEBUG] TRACE", Severity::debug, "", "",
       "TRACE", true},
      {"[2026-03-04 05:06:07] gpu-n017:48213:48377 [3] a/b.cc:5 NCCL WARN x", Severity::warning,
       "a/b.cc", "5", "NCCL WARN x", true},
      {"[NeMo W 2026-03-04 05:06:07 nemo_logging:361 rank:3] /srv/x", Severity::warning,
       "nemo_logging", "361", "/srv/x", true},
      {"[INFO|trainer.py:2314] 2026-03-04 05:06:07,448 >> go", Severity::info, "trainer.py", "2314",
       "go", true},
      {"WARNING 03-04 05:06:07 [vllm.py:1453] no config", Severity::warning, "vllm.py", "1453",
       "no config", true},
      {"ERROR:torch.distributed.elastic.api:failed (exitcode: 1)", Severity::error, "", "",
       "failed (exitcode: 1)", false},
      {"WARNING: Logging before", Severity::warning, "", "", "Logging before", false},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.text));
    const auto header = parse_header(c.text);
    REQUIRE(header.has_value());
    CHECK(header->severity == c.severity);
    CHECK(header->file == c.file);
    CHECK(header->file_line == c.line);
    CHECK(c.text.substr(header->size) == c.body);
    CHECK(header->time.has_value() == c.timed);
  }
}

TEST_CASE("Log header: text that only looks like one has none") {
  for (std::string_view text :
       {"", "I", "Info: x", "step=60 loss=0.1", "I0304", "E1399 05:06:07 is no time",
        "2026-02-30 05:06:07 x", "  File \"x.py\", line 3", "[1,2,3] x", "[rank3]: x",
        "RuntimeError: x", "INFOX:a:b", "12345", "[2026-03-04 05:06:07", "[E nofile] x"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(parse_header(text).has_value());
  }
}

TEST_CASE("Log header: a date or a clock that is none leaves level, place and message") {
  struct Case {
    std::string_view before, behind;  // of the time
    Severity severity;
    std::string_view place, body;
  };
  const Case cases[] = {
      {"", ",000 - ERROR - x", Severity::error, "", "x"},
      {"", ",448 ERROR train.py:88] x y", Severity::error, "train.py:88", "x y"},
      {"", ".448 | CRITICAL | a.b:run:12 - x", Severity::fatal, "a.b:12", "x"},
      {"", ".448120: E external/xla/service.cc:152] x", Severity::error,
       "external/xla/service.cc:152", "x"},
      {"[", ",448] [WARNING] [logging.py:107:log_dist] [Rank 0] x", Severity::warning,
       "logging.py:107", "[Rank 0] x"},
      {"[", "][a.core][ERROR] - x", Severity::error, "", "x"},
      {"[INFO|trainer.py:2314] ", ",448 >> x", Severity::info, "trainer.py:2314", "x"},
      {"ERROR:", ",448:jax._src.xla_bridge:812: x", Severity::error, "jax._src.xla_bridge:812",
       "x"},
      {"ERROR ", " [core.py:7] x", Severity::error, "core.py:7", "x"},
      {"(ERROR) (a.py) (", ") x", Severity::error, "", "x"},
      {"[ERROR] ME(130371:281473,MainProcess):", " [a/b.cc:5] x", Severity::error, "a/b.cc:5", "x"},
      {"", " a.py:12 x", Severity::unset, "a.py:12", "x"},
  };
  const std::string_view times[] = {"2026-13-45 25:61:61", "2026-02-30 05:06:07",
                                    "2026-03-04 24:00:00", "2026-03-04 05:60:07",
                                    "2026/00/10 05:06:07", "2026-03-00T05:06:07"};
  HeaderReader reader;
  for (const Case& c : cases) {
    for (const std::string_view time : times) {
      const std::string text = std::string(c.before).append(time).append(c.behind);
      CAPTURE(text);
      const auto header = parse_header(text);
      REQUIRE(header.has_value());
      CHECK_FALSE(header->time.has_value());
      CHECK(header->severity == c.severity);
      const std::string place =
          header->file.empty() ? ""
                               : std::string(header->file) + ":" + std::string(header->file_line);
      CHECK(place == c.place);
      CHECK(text.substr(header->size) == c.body);
      const auto again = reader.read(text);
      REQUIRE(again.has_value());
      CHECK(again->size == header->size);
      CHECK(again->severity == header->severity);
      CHECK_FALSE(again->time.has_value());
    }
  }
}

TEST_CASE("Log header: loggers' own forms of a date that is none keep level and place") {
  const HeaderShape shapes[] = {
      {"E1399 05:06:07.448120 48213 a.cc:1] x", Severity::error, "a.cc:1", "x"},
      {"E20260230 05:06:07.448120 48213 a.cc:1] x", Severity::error, "a.cc:1", "x"},
      {"I0304 25:06:07.448120 48213 a.cc:1] x", Severity::info, "a.cc:1", "x"},
      {"[W332 05:06:07.448120903 TCPStore.cpp:115] x", Severity::warning, "TCPStore.cpp:115", "x"},
      {"ERROR 02-30 05:06:07 [core.py:7] x", Severity::error, "core.py:7", "x"},
      {"ERROR 03-04 25:06:07 [core.py:7] x", Severity::error, "core.py:7", "x"},
      {"02/30 05:06:07 - mmengine - ERROR - x", Severity::error, "", "x"},
      {"26/02/30 05:06:07 ERROR SparkContext: x", Severity::error, "", "x"},
      {"20260230 05:06:07 ERROR a.py:3] x", Severity::error, "a.py:3", "x"},
      {"Feb 30 05:06:07 ERROR a.py:3] x", Severity::error, "a.py:3", "x"},
      {"[Wed Feb 30 05:06:07 2026] [core:error] x", Severity::error, "", "x"},
      {"30/Feb/2026:05:06:07 +0000 ERROR x", Severity::error, "", "x"},
      {"25:61:61 - ERROR - x", Severity::error, "", "x"},
      {R"({"time": "2026-13-45 25:61:61", "level": "ERROR", "msg": "x"})", Severity::error, "",
       R"({"time": "2026-13-45 25:61:61", "level": "ERROR", "msg": "x"})"},
      {R"({"ts": "2026-02-30T05:06:07Z", "level": "error", "step": 3})", Severity::error, "",
       R"({"ts": "2026-02-30T05:06:07Z", "level": "error", "step": 3})"},
      {"time=2026-13-45T25:61:61Z level=error msg=x", Severity::error, "", "msg=x"},
      {"time=\"2026-02-30 05:06:07\" level=error step=3", Severity::error, "", "step=3"},
  };
  for (const HeaderShape& shape : shapes) {
    check_header(shape);
    CHECK_FALSE(parse_header(shape.text)->time.has_value());
  }
}

TEST_CASE("Log header: counts and durations are no dates, whatever stands behind them") {
  for (std::string_view text :
       {"2026-13-45 25:61:61 x", "12/45 05:06:07 left", "45/99 [00:12<00:14, 3.1it/s] step",
        "99:99:99 elapsed", "20261345 256161 x", "12345678 123456 a.py:12 x", "Feb 30 was no day",
        "123456 00:12:34 a.py:12 x", "2026-13-45, 3, 4", "2026-99 train.py:3"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(parse_header(text).has_value());
  }
}

TEST_CASE("Log header: any cut of any header is read without a crash and within the text") {
  const std::string_view samples[] = {
      "[2026-03-04 05:06:07,448] [INFO] [logging.py:107:log_dist] [Rank 0] x",
      "2026-03-04 05:06:07.448 | SUCCESS  | __main__:<module>:12 - done",
      "[NeMo W 2026-03-04 05:06:07 nemo_logging:361 rank:3] /srv/x",
      "I20260304 05:06:07.448120 48213 loader.cc:88] shard 7",
      "WARNING 03-04 05:06:07 [vllm.py:1453] no config"};
  for (auto sample : samples) {
    for (std::size_t size = 0; size <= sample.size(); ++size) {
      const std::string exact(sample.substr(0, size));  // on the heap: the sanitizer sees its end
      const auto header = parse_header(exact);
      if (header) CHECK(header->size <= exact.size());
    }
  }
}

TEST_CASE("Bare rank: at the beginning of a text, in brackets or as the writer's key") {
  const std::pair<std::string_view, int> named[] = {
      {"[Rank 4] iteration 12 | loss 2.3", 4},
      {"[rank 4] x", 4},
      {"[rank:4] x", 4},
      {"[rank: 4] x", 4},
      {"[RANK=12]: x", 12},
      {"[Rank 4/8] x", 4},
      {"[Rank 0][2026-03-04 05:06:07] x", 0},
      {"[Rank 4]", 4},
      {"(rank 4) x", 4},
      {"(Rank: 4) x", 4},
      {"rank=4 step=12 loss=2.3", 4},
      {"rank=4, iteration: 12", 4},
      {"Rank=4: epoch=3", 4},
  };
  for (const auto& [text, rank] : named) {
    CAPTURE(std::string(text));
    CHECK(parse_bare_rank(text) == rank);
  }
  for (std::string_view text : {"",
                                "rank",
                                "[Rank ] x",
                                "[Rank -1] x",
                                "[rank4] x",
                                "[Rank 4 x",
                                "[Rank 4)",
                                "[ranks 4] x",
                                "Rank 4 is up",
                                "[Rank 4](http://x)",
                                "[Rank 4].x",
                                "[Rank 123456789] x",
                                "[rank_4] x",
                                "[local_rank 4] x",
                                "[Rank 4/] x",
                                "[Rank 4,5] x",
                                "(rank 4, alpha 8) x",
                                "on [Rank 4] x",
                                " [Rank 4] x",
                                "rank=16, alpha=32",
                                "rank=16 alpha: 32",
                                "rank=2 shape=(3, 4)",
                                "rank=4",
                                "rank=4 ",
                                "rank=4x y",
                                "rank=4 exited with 1",
                                "rank=5 exit code -9",
                                "rank=5 heartbeat lost",
                                "rank=4 | saving checkpoint",
                                "rank=16 (alpha 32)",
                                "rank=16, 32",
                                "rank=4 is silent",
                                "RANK=4 WORLD_SIZE=8 python a.py",
                                "rank: 4 step=3",
                                "ranking=4 step=3"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(parse_bare_rank(text).has_value());
  }
}

TEST_CASE("Rank prefix: PyTorch's own, and nothing like it") {
  const auto prefix = parse_rank_prefix("[rank12]: text");
  REQUIRE(prefix.has_value());
  CHECK(prefix->rank == 12);
  CHECK(prefix->size == 10);
  CHECK(parse_rank_prefix("[rank0]:[E")->size == 8);
  CHECK(parse_rank_prefix("[rank0]:   File")->size == 9);
  for (std::string_view text :
       {"[rank]: x", "[rank3] x", "[Rank 3]: x", "[rank999999999]: x", "["}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(parse_rank_prefix(text).has_value());
  }
}

}  // namespace logarithm
