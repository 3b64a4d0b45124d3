#include "common/line/record_shapes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/line/stream_parser.h"
#include "common/rules/rule_set.h"

namespace logarithm {
namespace {

constexpr UnixNanos kSecond = 1'000'000'000;
constexpr UnixNanos kNoon = 1'796'040'000 * kSecond;

// No rules but one: remembers the records that it was shown, and marks their last line.
class Rules final : public RuleSet {
 public:
  void apply(std::string_view, std::string_view, Extraction& out) const override { out = {}; }
  void apply(std::string_view, const MaskedBody&, TemplateId, std::string_view,
             Extraction& out) const override {
    out = {};
  }
  TemplateId read(std::string_view, std::string_view, Extraction& out) const override {
    out = {};
    return 1;
  }
  void find_secrets(std::string_view, std::vector<Secret>& out) const override { out.clear(); }
  bool redacts() const override { return false; }
  std::vector<RuleCost> costs() const override { return {}; }
  void apply_record(std::string_view record, std::string_view, Extraction& out) const override {
    seen.emplace_back(record);
    out.meta.push_back({"record", static_cast<std::int64_t>(seen.size()), false});
  }
  std::size_t size() const override { return 1; }
  mutable std::vector<std::string> seen;
};

struct Stream {
  Stream() { restart(0, ""); }
  void restart(std::uint64_t position, const std::string& state) {
    auto made = StreamParser::make({}, rules, pool, position, state);
    REQUIRE(made.ok());
    parser = std::move(made).value();
  }
  std::vector<Line>& feed(std::string_view bytes, UnixNanos at = kNoon) {
    parser->feed(bytes, at, out);
    return out.lines;
  }
  // The heads, as numbers of lines.
  std::vector<std::size_t> heads() const {
    std::vector<std::size_t> result;
    for (const Line& line : out.lines) {
      for (std::size_t i = 0; i < out.lines.size(); ++i) {
        if (out.lines[i].offset == line.head) result.push_back(i);
      }
    }
    return result;
  }
  Rules rules;
  LongLinePool pool;
  std::unique_ptr<StreamParser> parser;
  ParsedLines out;
};

using Heads = std::vector<std::size_t>;

constexpr std::string_view kChained =
    "Traceback (most recent call last):\n"
    "  File \"a.py\", line 1, in f\n"
    "    x[1]\n"
    "    ~^^^\n"
    "KeyError: 1\n"
    "\n"
    "During handling of the above exception, another exception occurred:\n"
    "\n"
    "Traceback (most recent call last):\n"
    "  File \"a.py\", line 3, in <module>\n"
    "    f()\n"
    "RuntimeError: no x\n"
    "after\n";

}  // namespace

TEST_CASE("Record shapes: a chain of exceptions is one record, each traceback shown to rules") {
  Stream s;
  const auto& lines = s.feed(kChained);
  CHECK(s.heads() == Heads{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12});
  REQUIRE(s.rules.seen.size() == 2);
  CHECK(s.rules.seen[0].ends_with("\nKeyError: 1"));
  CHECK(s.rules.seen[1].starts_with("Traceback"));
  CHECK(s.rules.seen[1].ends_with("\nRuntimeError: no x"));
  CHECK(lines[4].meta.size() == 1);
  CHECK(lines[11].meta.size() == 1);
  CHECK(lines[11].severity == Severity::error);
  CHECK(lines[5].severity == Severity::unset);  // an empty line is no error
  CHECK(lines[12].severity == Severity::unset);
}

TEST_CASE("Record shapes: case 42: a record goes on after a restart, whatever the cut") {
  Stream whole;
  whole.feed(kChained);
  for (std::size_t cut = 1; cut < kChained.size(); ++cut) {
    CAPTURE(cut);
    Stream s;
    s.feed(kChained.substr(0, cut));
    s.restart(s.parser->position(), s.parser->state());
    s.feed(kChained.substr(s.parser->position()));
    REQUIRE(s.out.lines.size() == whole.out.lines.size());
    CHECK(s.heads() == whole.heads());
    CHECK(s.rules.seen == whole.rules.seen);
  }
}

TEST_CASE("Record shapes: the message of an exception may have lines of its own") {
  Stream s;
  s.feed(
      "Traceback (most recent call last):\n"
      "  File \"a.py\", line 1, in f\n"
      "torch.distributed.DistBackendError: NCCL error in: x.cpp:3353, unhandled system error\n"
      "ncclSystemError: System call failed\n"
      "Last error:\n"
      "socketStartConnect: Connect to 10.20.3.18<40123> failed : Connection refused\n"
      "Exception raised from f at x.cpp:1 (most recent call first):\n"
      "frame #0: c10::Error::Error() + 0x99 (0x7f in libc10.so)\n"
      "print\n");
  CHECK(s.heads() == Heads{0, 0, 0, 0, 0, 0, 0, 0, 8});
  CHECK(s.out.lines[5].severity == Severity::error);
}

TEST_CASE("Record shapes: an exception group with its margins is one record") {
  Stream s;
  s.feed(
      "  + Exception Group Traceback (most recent call last):\n"
      "  |   File \"a.py\", line 1, in <module>\n"
      "  |     raise eg\n"
      "  | ExceptionGroup: eg (2 sub-exceptions)\n"
      "  +-+---------------- 1 ----------------\n"
      "    | Traceback (most recent call last):\n"
      "    |   File \"a.py\", line 2, in f\n"
      "    | ValueError: 1\n"
      "    +---------------- 2 ----------------\n"
      "    | TypeError: 2\n"
      "    +------------------------------------\n"
      "after\n");
  CHECK(s.heads() == Heads{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11});
  REQUIRE(s.rules.seen.size() == 1);
  CHECK(s.rules.seen[0].find("\nExceptionGroup: eg (2 sub-exceptions)\n") != std::string::npos);
  CHECK(s.rules.seen[0].find("\nTypeError: 2\n") != std::string::npos);
}

TEST_CASE("Record shapes: a SyntaxError without a heading, and threads that die") {
  Stream s;
  s.feed(
      "  File \"a.py\", line 3\n"
      "    print(\"a\"\n"
      "         ^\n"
      "SyntaxError: '(' was never closed\n"
      "Exception in thread Thread-1 (f):\n"
      "Traceback (most recent call last):\n"
      "  File \"b.py\", line 1, in f\n"
      "ValueError: x\n");
  CHECK(s.heads() == Heads{0, 0, 0, 0, 4, 4, 4, 4});
  CHECK(s.out.lines[0].severity == Severity::error);
  REQUIRE(s.rules.seen.size() == 2);
  CHECK(s.rules.seen[1].starts_with("Traceback"));
}

TEST_CASE("Record shapes: faulthandler's dump is one record over its empty lines") {
  Stream s;
  s.feed(
      "Fatal Python error: Segmentation fault\n"
      "\n"
      "Current thread 0x00007f3b6e7213a3 (most recent call first):\n"
      "  File \"a.py\", line 88 in train_step\n"
      "\n"
      "Thread 0x00007f3b6e7213a4 (most recent call first):\n"
      "  <no Python frame>\n"
      "\n"
      "Extension modules: numpy.core (total: 1)\n"
      "after\n");
  CHECK(s.heads() == Heads{0, 0, 0, 0, 0, 0, 0, 0, 0, 9});
  CHECK(s.out.lines[3].severity == Severity::fatal);
  CHECK(s.rules.seen.size() == 1);
}

TEST_CASE("Record shapes: terminate, what() and the C++ stack are one fatal record") {
  Stream s;
  s.feed(
      "terminate called after throwing an instance of 'c10::DistBackendError'\n"
      "  what():  [PG ID 0 Rank 2] Process group watchdog thread terminated with exception: x\n"
      "Exception raised from run at ProcessGroupNCCL.cpp:5 (most recent call first):\n"
      "frame #0: c10::Error::Error() + 0x99 (0x7f in libc10.so)\n"
      "frame #1: <unknown function> + 0xd6df4 (0x7f in libstdc++.so.6)\n"
      "\n"
      "after\n");
  CHECK(s.heads() == Heads{0, 0, 0, 0, 0, 0, 6});
  CHECK(s.out.lines[4].severity == Severity::fatal);
}

TEST_CASE("Record shapes: torchelastic's table belongs to the exception in front of it") {
  const std::string table =
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
      "============================================================\n"
      "train.py FAILED\n"
      "------------------------------------------------------------\n"
      "Failures:\n"
      "  <NO_OTHER_FAILURES>\n"
      "------------------------------------------------------------\n"
      "Root Cause (first observed failure):\n"
      "[0]:\n"
      "  rank      : 11 (local_rank: 3)\n"
      "============================================================\n";
  Stream alone;
  alone.feed(table + "after\n");
  CHECK(alone.heads() == Heads{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11});
  REQUIRE(alone.rules.seen.size() == 1);
  CHECK(alone.rules.seen[0] + "\n" == table);

  Stream traced;
  std::string frames = "Traceback (most recent call last):\n";
  for (int i = 0; i < 40; ++i) frames += "  File \"/srv/venv/lib/a.py\", line 1, in a_function\n";
  traced.feed(frames + table);
  CHECK(traced.out.lines.back().head == 0);
  REQUIRE(traced.rules.seen.size() == 2);
  CHECK(traced.rules.seen[1] + "\n" == table);
}

TEST_CASE("Record shapes: Open MPI's report, the driver's several lines, printed values") {
  Stream s;
  s.feed(
      "[gpu-n017:01615] *** Process received signal ***\n"
      "[gpu-n017:01615] Signal: Segmentation fault (11)\n"
      "[gpu-n017:01615] [ 0] /lib/libc.so.6(+0x1)[0x7f]\n"
      "[gpu-n017:01615] *** End of error message ***\n"
      "NVRM: The NVIDIA GPU 0000:b3:00.0\n"
      "               NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
      "               NVRM: fallen off the bus and is not responding to commands.\n"
      "{\n"
      "  \"a\": 1\n"
      "}\n"
      "------------------------ arguments ------------------------\n"
      "  accumulate_allreduce_grads_in_fp32 .............. True\n"
      "-------------------- end of arguments ---------------------\n");
  CHECK(s.heads() == Heads{0, 0, 0, 0, 4, 4, 4, 7, 7, 7, 10, 10, 10});
  CHECK(s.out.lines[2].severity == Severity::fatal);
  CHECK(s.out.lines[8].severity == Severity::unset);
  REQUIRE(s.rules.seen.size() == 4);
  CHECK(s.rules.seen[1].ends_with("commands."));
}

TEST_CASE("Record shapes: case 43: ranks on one pipe keep their own records, never each other's") {
  Stream s;
  s.feed(
      "[rank0]: Traceback (most recent call last):\n"
      "[rank1]: Traceback (most recent call last):\n"
      "[rank0]:   File \"a.py\", line 1, in f\n"
      "[rank1]:   File \"b.py\", line 2, in g\n"
      "no rank\n"
      "[rank1]: ValueError: b\n"
      "[rank0]: KeyError: a\n");
  CHECK(s.heads() == Heads{0, 1, 0, 1, 4, 1, 0});
  REQUIRE(s.rules.seen.size() == 2);
  CHECK(s.rules.seen[0].find("b.py") != std::string::npos);
  CHECK(s.rules.seen[0].find("a.py") == std::string::npos);
}

TEST_CASE("Record shapes: many writers are bounded, and so is what is carried") {
  Stream s;
  for (int round = 0; round < 50; ++round) {
    for (int rank = 0; rank < 100; ++rank) {
      s.feed("[rank" + std::to_string(rank) + "]: " +
             (round == 0 ? "Traceback (most recent call last):\n"
                         : "  File \"" + std::string(100, 'x') + "\", line 1\n"));
    }
  }
  CHECK(s.parser->state().size() < 32'000);
}

TEST_CASE("Record shapes: a block behind a header is shown to rules where an empty line ends it") {
  Stream s;
  s.feed(
      "I1130 12:00:00.100402  9693 logger.cpp:213] [Rank 2]: DDP Initialized with: \n"
      "world_size: 4\n"
      "iteration: 0\n"
      "\n");
  CHECK(s.heads() == Heads{0, 0, 0, 0});
  CHECK(s.out.lines[2].callsite == "logger.cpp:213");
  REQUIRE(s.rules.seen.size() == 1);
  CHECK(s.rules.seen[0].ends_with("world_size: 4\niteration: 0\n"));
}

TEST_CASE("Record shapes: a frame in an information of a logger is no error") {
  Stream s;
  s.feed(
      "2026-11-30 12:00:00,000 INFO a.py:1] here\n"
      "Stack (most recent call last):\n"
      "  File \"a.py\", line 1, in f\n");
  CHECK(s.out.lines[2].severity == Severity::info);
}

TEST_CASE("Record shapes: a shape that never ends is closed by time, lines and bytes") {
  Stream s;
  s.feed("Traceback (most recent call last):\n");
  CHECK(s.feed("  File \"a.py\", line 1\n", kNoon + 59 * kSecond)[1].head == 0);
  CHECK(s.feed("  x\n", kNoon + 120 * kSecond)[2].head != 0);

  Stream table;
  table.feed("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n");
  table.feed("==============================\n");
  for (int i = 0; i < 600; ++i) table.feed("text\n");
  CHECK(table.out.lines[499].head == 0);
  CHECK(table.out.lines[501].head != 0);
}

TEST_CASE("Record shapes: case 40: a shape past the limit has a new head, and stays what it is") {
  struct Long {
    std::string first, more, last;
    Severity severity;
    bool shown;
  };
  const Long shapes[] = {
      {"Traceback (most recent call last):\n", "  File \"a.py\", line 1, in f\n", "ValueError: x\n",
       Severity::error, true},
      {"Traceback (most recent call last):\n", "  " + std::string(2000, 'x') + "\n",
       "ValueError: x\n", Severity::error, true},
      {"  + Exception Group Traceback (most recent call last):\n", "  |   File \"a.py\", line 1\n",
       "  +------------------------------------\n", Severity::error, true},
      {"Fatal Python error: Segmentation fault\n", "  File \"a.py\", line 1 in f\n",
       "Extension modules: numpy\n", Severity::fatal, true},
      {"terminate called after throwing an instance of 'c10::Error'\n", "frame #7: f + 0x12\n",
       "================================\n", Severity::fatal, true},
  };
  for (const Long& shape : shapes) {
    CAPTURE(shape.first);
    Stream s;
    s.feed(shape.first);
    for (int i = 0; i < 1300; ++i) {
      s.feed(shape.more);
      if (i == 700) s.restart(s.parser->position(), s.parser->state());
    }
    s.feed(shape.last);
    const auto& lines = s.feed("after\n");
    std::size_t heads = 0;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
      heads += lines[i].head == lines[i].offset ? 1u : 0u;
      REQUIRE(lines[i].severity == shape.severity);
      REQUIRE(lines[i].has(line_flag::continuation) == (i > 0));
    }
    CHECK(heads >= 3);
    CHECK(lines.back().severity == Severity::unset);
    CHECK_FALSE(lines.back().has(line_flag::continuation));
    REQUIRE(s.rules.seen.size() == 1);
    CHECK(s.rules.seen[0].starts_with(shape.first.substr(0, 12)));
    CHECK(lines[lines.size() - 2].meta.back().key == "record");
  }
}

TEST_CASE("Record shapes: the exception at the end of a very long traceback is an event") {
  std::vector<RuleProblem> problems;
  const auto rules = RuleSet::build(RuleSet::shipped(), problems);
  LongLinePool pool;
  auto made = StreamParser::make({}, *rules, pool, 0, "");
  REQUIRE(made.ok());
  std::string bytes = "Traceback (most recent call last):\n";
  for (int i = 0; i < 1500; ++i) {
    bytes += "  File \"a.py\", line " + std::to_string(i) + ", in f\n    raise ValueError(x)\n";
  }
  ParsedLines out;
  (*made)->feed(bytes + "ValueError: bad batch\n", kNoon, out);
  REQUIRE(out.lines.size() == 3002);
  CHECK(std::all_of(out.lines.begin(), out.lines.end(),
                    [](const Line& line) { return line.severity == Severity::error; }));
  CHECK(std::all_of(out.lines.begin(), out.lines.end() - 1,
                    [](const Line& line) { return line.events.empty(); }));
  const auto& meta = out.lines.back().meta;
  CHECK(std::any_of(out.lines.back().events.begin(), out.lines.back().events.end(),
                    [](const EventMark& event) { return event.kind == "exception"; }));
  CHECK(std::any_of(meta.begin(), meta.end(), [](const MetaPair& pair) {
    return pair.key == "exception" && pair.value == MetaValue(std::string("ValueError"));
  }));
}

}  // namespace logarithm
