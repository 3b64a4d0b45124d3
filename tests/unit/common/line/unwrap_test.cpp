#include <doctest/doctest.h>

#include "tests/unit/common/line/parser_fixture.h"

// How wrappers stack, and whose rank counts.
namespace logarithm {
namespace {

using namespace test;

struct Wrapper {
  const char* name;
  const char* prefix;
  int level;  // outermost first; equal ones may come in any order
  std::optional<std::int32_t> rank = {};
  bool node = false;  // the rank may be a node's
  std::optional<std::int32_t> local = {};
  Output output = Output::unset;
  std::pair<const char*, const char*> meta = {nullptr, nullptr};
};

const Wrapper kWrappers[] = {
    {.name = "cri",
     .prefix = "2026-03-04T05:06:07.5Z stderr F ",
     .level = 0,
     .output = Output::err,
     .meta = {"flag", "F"}},
    {.name = "journal",
     .prefix = "2026-03-04T05:06:07+0000 n1 train[7]: ",
     .level = 1,
     .meta = {"unit", "train"}},
    {.name = "syslog",
     .prefix = "Mar  4 05:06:07 n2 train[8]: ",
     .level = 1,
     .meta = {"unit", "train"}},
    {.name = "kubectl", .prefix = "[pod/p-1/c] ", .level = 2, .meta = {"pod", "p-1"}},
    {.name = "pdsh", .prefix = "n017: ", .level = 2, .meta = {"host", "n017"}},
    {.name = "srun", .prefix = " 5: ", .level = 3, .rank = 5, .node = true},
    {.name = "mpirun",
     .prefix = "[1,5]<stdout>:",
     .level = 3,
     .rank = 5,
     .output = Output::out,
     .meta = {"mpi_job", "1"}},
    {.name = "horovod", .prefix = "[5]<stderr>:", .level = 3, .rank = 5, .output = Output::err},
    {.name = "ray", .prefix = "(A pid=9, ip=10.0.0.1) ", .level = 3, .meta = {"actor", "A"}},
    {.name = "tee", .prefix = "[default2]:", .level = 4, .local = 2, .meta = {"role", "default"}},
    {.name = "rank", .prefix = "[rank5]: ", .level = 5, .rank = 5},
};

// pdsh's host is only told by what comes behind it.
bool can_stack(const Wrapper& outer, const Wrapper& inner) {
  const std::string_view a = outer.name, b = inner.name;
  if (outer.level >= inner.level) return false;
  if (a == "pdsh") return b == "mpirun" || b == "horovod" || b == "tee" || b == "rank";
  // Nothing behind the host makes it one.
  return b != "pdsh";
}

StreamContext slurm() {
  StreamContext context;
  context.slurm_step = true;
  return context;
}

}  // namespace

TEST_CASE("Unwrap: every pair of wrappers that can stack gives both") {
  int pairs = 0;
  for (const Wrapper& outer : kWrappers) {
    for (const Wrapper& inner : kWrappers) {
      if (!can_stack(outer, inner)) continue;
      ++pairs;
      const std::string bytes = std::string(outer.prefix) + inner.prefix + "body text";
      CAPTURE(bytes);
      ParsedStream stream(slurm());
      const auto& lines = stream.whole(bytes + "\n");
      REQUIRE(lines.size() == 1);
      const Line& line = lines[0];
      CHECK(body_of(line) == "body text");
      for (const Wrapper* wrapper : {&outer, &inner}) {
        CAPTURE(wrapper->name);
        if (wrapper->meta.first != nullptr) {
          bool found = false;
          for (const MetaPair& pair : line.meta) {
            const auto* text = std::get_if<std::string>(&pair.value);
            const auto* number = std::get_if<std::int64_t>(&pair.value);
            found = found || (pair.key == wrapper->meta.first &&
                              ((text && *text == wrapper->meta.second) ||
                               (number && std::to_string(*number) == wrapper->meta.second)));
          }
          CHECK(found);
        }
        if (wrapper->local) CHECK(meta_text(line, "local_rank") == std::to_string(*wrapper->local));
        if (wrapper->rank && !(wrapper->node && inner.local)) CHECK(line.wrapper_rank == 5);
      }
      const Output output = inner.output != Output::unset ? inner.output : outer.output;
      CHECK(line.output == output);
      // srun started torchrun: the label counts nodes.
      if (outer.node && inner.local) {
        CHECK_FALSE(line.wrapper_rank.has_value());
        CHECK(meta_text(line, "rank") == "5");
      }
    }
  }
  CHECK(pairs >= 35);
}

TEST_CASE("Unwrap: three layers and a header, as srun, torchrun and PyTorch stack them") {
  ParsedStream stream(slurm());
  const auto& lines = stream.whole(
      "0: [default3]:[rank3]:[E304 05:06:07.448120903 ProcessGroupNCCL.cpp:616] [Rank 3] x\n");
  CHECK(lines[0].wrapper_rank == 3);
  CHECK(meta_text(lines[0], "local_rank") == "3");
  CHECK(meta_text(lines[0], "rank") == "0");  // the node
  CHECK_FALSE(lines[0].has(line_flag::rank_mismatch));
  CHECK(lines[0].callsite == "ProcessGroupNCCL.cpp:616");
  CHECK(lines[0].severity == Severity::error);
  CHECK(body_of(lines[0]) == "[Rank 3] x");
}

TEST_CASE("Unwrap: stops after four layers, the container's counted") {
  ParsedStream stream;
  const auto& lines = stream.whole(
      "2026-03-04T05:06:07Z stdout F (A pid=1) (B pid=2) (C pid=3) (D pid=4) x\n"
      "(A pid=1) (B pid=2) (C pid=3) (D pid=4) (E pid=5) x\n");
  CHECK(body_of(lines[0]) == "(D pid=4) x");
  CHECK(body_of(lines[1]) == "(E pid=5) x");
}

TEST_CASE("Unwrap: a rank prefix ends it, and what follows is the process's") {
  ParsedStream stream(slurm());
  const auto& lines = stream.whole("[rank3]: [rank4]: x\n[rank3]: 12: y\n[default1]:12: z\n");
  CHECK(body_of(lines[0]) == "[rank4]: x");
  CHECK(lines[0].wrapper_rank == 3);
  CHECK(body_of(lines[1]) == "12: y");
  CHECK(body_of(lines[2]) == "12: z");
  CHECK_FALSE(lines[2].wrapper_rank.has_value());
}

TEST_CASE("Unwrap: a launcher's and the process's prefix of one rank are both none of its text") {
  ParsedStream stream;
  const auto& lines = stream.whole(
      "[rank3]:[rank3]: Traceback (most recent call last):\n"
      "[rank3]:[rank3]:   File \"a.py\", line 1, in f\n"
      "[rank3]:[rank3]: KeyError: 'x'\n");
  CHECK(body_of(lines[0]) == "Traceback (most recent call last):");
  CHECK(body_of(lines[2]) == "KeyError: 'x'");
  CHECK(lines[2].wrapper_rank == 3);
  CHECK(lines[2].head == lines[0].offset);
  CHECK_FALSE(lines[2].has(line_flag::rank_mismatch));
}

TEST_CASE("Unwrap: a local rank is never a rank") {
  ParsedStream stream;
  const auto& lines = stream.whole("[default3]:x\n(A pid=1) [trainer0]:y\n");
  CHECK_FALSE(lines[0].wrapper_rank.has_value());
  CHECK_FALSE(lines[1].wrapper_rank.has_value());
  CHECK(meta_text(lines[1], "local_rank") == "0");
}

TEST_CASE("Unwrap: the inner of two ranks counts, the outer is kept and the difference flagged") {
  ParsedStream stream;
  const auto& lines = stream.whole("[1,12]<stdout>:[rank3]: x\n[1,3]<stdout>:[rank3]: y\n");
  CHECK(lines[0].wrapper_rank == 3);
  CHECK(meta_text(lines[0], "rank") == "12");
  CHECK(lines[0].has(line_flag::rank_mismatch));
  CHECK_FALSE(lines[1].has(line_flag::rank_mismatch));
  CHECK(meta_of(lines[1], "rank") == nullptr);
}

TEST_CASE("Unwrap: the process's rank stays, a path's gives way, a difference is flagged") {
  for (const char* prefix : {"[rank3]: ", "[1,3]<stdout>:", "3: "}) {
    CAPTURE(prefix);
    StreamContext process = slurm();
    process.process_rank = 5;
    process.rank_from_process = true;
    ParsedStream with(process);
    const auto& kept = with.whole(std::string(prefix) + "x\n");
    CHECK_FALSE(kept[0].wrapper_rank.has_value());
    CHECK(kept[0].has(line_flag::rank_mismatch));
    StreamContext path = slurm();
    path.process_rank = 5;
    ParsedStream weak(path);
    const auto& taken = weak.whole(std::string(prefix) + "x\n");
    CHECK(taken[0].wrapper_rank == 3);
    CHECK(taken[0].has(line_flag::rank_mismatch));
  }
}

TEST_CASE("Unwrap: a rank in front of everything is the line's where nothing else names one") {
  ParsedStream stream;
  const auto& lines = stream.whole(
      "[Rank 4] iteration 12 loss 2.3\n(rank 5) iteration 12\nrank=6 step=3\n[rank:7] x\nplain\n"
      "[rank3]: [Rank 4] x\nn1: [default1]:[Rank 4] x\n"
      "[E304 05:06:07.448120903 ProcessGroupNCCL.cpp:616] [Rank 3] x\nsays [Rank 4] x\n");
  CHECK(lines[0].wrapper_rank == 4);
  CHECK(body_of(lines[0]) == "[Rank 4] iteration 12 loss 2.3");
  CHECK(lines[1].wrapper_rank == 5);
  CHECK(lines[2].wrapper_rank == 6);
  CHECK(lines[3].wrapper_rank == 7);
  CHECK_FALSE(lines[4].wrapper_rank.has_value());
  CHECK(lines[5].wrapper_rank == 3);  // PyTorch's own prefix knows better
  CHECK_FALSE(lines[5].has(line_flag::rank_mismatch));
  CHECK(lines[6].wrapper_rank == 4);
  CHECK_FALSE(lines[7].wrapper_rank.has_value());  // a group's rank: a mention
  CHECK(meta_text(lines[7], "rank") == "3");
  CHECK_FALSE(lines[8].wrapper_rank.has_value());
  // A process or a path that names the rank stays as it is.
  for (const bool process : {false, true}) {
    StreamContext context;
    context.process_rank = 2;
    context.rank_from_process = process;
    ParsedStream known(context);
    const Line line = known.whole("[Rank 4] x\n")[0];
    CHECK_FALSE(line.wrapper_rank.has_value());
    CHECK_FALSE(line.has(line_flag::rank_mismatch));
  }
}

TEST_CASE("Unwrap: ranks that print their own number keep their records and hosts apart") {
  ParsedStream stream;
  const auto& lines = stream.whole("2026-03-04 05:06:07 ERROR a.py:1] x\n[Rank 4] y\n[Rank 5] z\n");
  CHECK(lines[1].severity == Severity::unset);
  CHECK(lines[1].head == lines[1].offset);
  CHECK(lines[2].wrapper_rank == 5);
  ParsedStream hosts;
  const auto& two = hosts.whole("h1: [Rank 4] a\nh2: [Rank 5] b\nh1: [Rank 4] c\n");
  CHECK(two[2].wrapper_rank == 4);
  CHECK(meta_text(two[2], "host") == "h1");
}

TEST_CASE("Unwrap: case 43: ranks on one pipe are never one record") {
  ParsedStream stream;
  const auto& lines = stream.whole(
      "[default0]:E0304 05:06:07.448120 7 a.cc:1] boom\n"
      "[default1]:plain\n"
      "[default0]:  more\n"
      "(A pid=1) E0304 05:06:07.448120 7 a.cc:1] boom\n"
      "(A pid=2) plain\n");
  CHECK(lines[1].head == lines[1].offset);
  CHECK(lines[1].severity == Severity::unset);
  CHECK(lines[4].head == lines[4].offset);
  ParsedStream pod;
  const auto& outputs = pod.whole(
      "2026-03-04T05:06:07Z stderr F E0304 05:06:07.448120 7 a.cc:1] boom\n"
      "2026-03-04T05:06:07Z stdout F plain\n");
  CHECK(outputs[1].head == outputs[1].offset);
}

TEST_CASE("Unwrap: what follows a redraw in the same file line has the line's rank and output") {
  ParsedStream stream;
  const auto& lines = stream.whole(
      "2026-03-04T05:06:07Z stderr F [rank3]: 1%\r 2%\r 3%\n"
      "2026-03-04T05:06:07Z stdout F next\n");
  REQUIRE(lines.size() == 4);
  for (int i = 0; i < 3; ++i) {
    CHECK(lines[i].wrapper_rank == 3);
    CHECK(lines[i].output == Output::err);
  }
  CHECK(text_of(lines[1]) == " 2%");
  CHECK_FALSE(lines[3].wrapper_rank.has_value());
  CHECK(lines[3].output == Output::out);
}

TEST_CASE("Unwrap: a wrapper's time is the line's where the logger printed none") {
  ParsedStream stream;
  const auto& lines = stream.whole(
      "2026-03-04T05:06:01.5Z stdout F plain\n"
      "2026-03-04T05:06:02.5Z stdout F 2026-03-04 05:06:02,250 INFO a.py:1] x\n"
      "2026-03-04T06:06:03+01:00 n1 u: y\n"
      "{\"log\":\"z\\n\",\"stream\":\"stderr\",\"time\":\"2026-03-04T05:06:04.000000001Z\"}\n");
  CHECK(lines[0].time == kNoon - 6 * kSecond + kSecond / 2);
  CHECK_FALSE(lines[0].has(line_flag::derived_time));
  CHECK(lines[1].time == kNoon - 5 * kSecond + kSecond / 4);
  CHECK(lines[2].time == kNoon - 4 * kSecond);
  CHECK(lines[3].time == kNoon - 3 * kSecond + 1);
}

TEST_CASE("Unwrap: a log store's time in front of a rank's tag is a wrapper, else a logger's") {
  ParsedStream stream;
  const auto& lines = stream.whole(
      "2026-03-04T05:06:07.123456789Z [rank3]: text\n"
      "[pod/trainer-0/main] 2026-03-04T05:06:08.5+00:00 [default3]:[rank3]:[E304 "
      "05:06:08.448120903 "
      "a.cc:6] x\n"
      "2026-03-04T05:06:09Z [3] text\n");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].wrapper_rank == 3);
  CHECK(lines[0].time == kNoon + 123'456'789);
  CHECK(body_of(lines[0]) == "text");
  CHECK(lines[1].wrapper_rank == 3);
  CHECK(meta_text(lines[1], "pod") == "trainer-0");
  CHECK(lines[1].callsite == "a.cc:6");
  CHECK(lines[1].time == kNoon + 1'448'120'903);
  CHECK_FALSE(lines[2].wrapper_rank.has_value());
  CHECK(lines[2].time == kNoon + 2 * kSecond);
}

TEST_CASE("Unwrap: a wrapper's time gives year and zone to the logger's") {
  StreamContext context;
  context.utc_offset_minutes = -480;  // says the process; the wrapper knows better
  context.imported = true;
  ParsedStream stream(context);
  // Tokyo, on New Year's Eve, imported in March.
  const auto& lines = stream.whole(
      "2025-12-31T15:00:00.5Z stdout F I0101 00:00:00.250000 7 a.cc:3] x\n"
      "2025-12-31T14:59:59.5Z stdout F 2025-12-31 23:59:59,250 INFO a.py:1] y\n");
  constexpr UnixNanos kNewYearTokyo = 1'767'193'200 * kSecond;
  CHECK(lines[0].time == kNewYearTokyo + kSecond / 4);
  CHECK(lines[1].time == kNewYearTokyo - kSecond + kSecond / 4);
}

}  // namespace logarithm
