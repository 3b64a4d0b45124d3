#pragma once

#include <string>
#include <vector>

#include "common/wire/frame.h"
#include "tests/support/reseal.h"

namespace logarithm::test {

// One frame of every type, in type order, with every member set.
inline std::vector<wire::Frame> sample_frames() {
  using namespace wire;
  const StreamId stream{{0x0123456789ABCDEFull, ~0ull}, 7};
  const std::uint64_t huge = ~std::uint64_t{0};
  ProcessInfo process;
  process.job = "job";
  process.host = "host003";
  process.pid = 17;
  process.start = -1;
  process.rank = 3;
  process.identity = {{"RANK", "3"}};
  process.gpus = {{1, "GPU-x", "0000:01:00.0"}};
  StreamAttributes attributes{2, 100,    "job", "p",      "",         1,  3,
                              0, "RANK", "h",   "stdout", {"stderr"}, {}, {}};
  const TemplateDef body{0xFFFFFFFFFFFFFFFFull, TemplateKind::body, 1,
                         std::string("step \x01 \0\xFF", 9)};
  const TemplateDef prefix{1, TemplateKind::prefix, 1, ""};
  const StoredGeneration generation{
      1, std::string("\0\xFFx", 3), {{0, 5}, {7, huge}}, 9, true, 3, {{5, 7}}};
  return {
      Hello{1, "agent", "host", "0.1.0", 1, "secret", true},
      StreamOpen{stream.base, "job", true},
      StreamInfo{stream, attributes, std::string("head\0\xFF", 6), 6},
      Processes{{process, process}},
      Templates{{body, prefix}},
      Block{stream, "job", 5, huge, std::string("LGBK\0\xFF", 6)},
      Closed{stream, "job", huge, "exited"},
      GapReport{stream, "job", {1, std::nullopt, "deleted", 5}},
      Heartbeat{-7,
                {{stream, "job", huge, 3}},
                {{"p stdout", "pipe", "job"}},
                12,
                {"r.yaml:3: match: bad"},
                {"agent.yaml:7: files: bad"},
                1500,
                2500},
      Flush{huge},
      Welcome{1, "0.1.0", 1, huge, 1u << 20, 1'796'000'000'000'000'000, true},
      StreamState{stream.base, "job", true, {generation, {}}},
      Ack{stream, "job", 0, huge},
      Refuse{stream,
             "job",
             0,
             huge,
             RefuseCode::template_conflict,
             "two texts",
             9,
             100,
             {1, 0xFEDCBA9876543210ull}},
      ClockReply{1, -2, 3},
      Flushed{huge},
      Goodbye{"token", 5},
  };
}

}  // namespace logarithm::test
