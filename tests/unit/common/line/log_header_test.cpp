#include "common/line/log_header.h"

#include <doctest/doctest.h>

#include <random>

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
       {"", "I", "Info: x", "step=60 loss=0.1", "I0304", "E1399 05:06:07.4 1 a.cc:1] x",
        "2026-02-30 05:06:07 x", "  File \"x.py\", line 3", "[1,2,3] x", "[rank3]: x",
        "RuntimeError: x", "INFOX:a:b", "12345", "[2026-03-04 05:06:07", "[E nofile] x"}) {
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
