#include "common/line/line_reading.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "common/line/line_memory.h"
#include "common/line/stream_parser.h"
#include "common/rules/rule_set.h"
#include "tests/support/forgetful_rules.h"
#include "tests/support/same_meta.h"

namespace logarithm {
namespace {

constexpr UnixNanos kSecond = 1'000'000'000;
constexpr UnixNanos kNoon = 1'772'600'767 * kSecond;  // 2026-03-04T05:06:07Z

std::shared_ptr<const RuleSet> shipped() {
  std::vector<RuleProblem> problems;
  auto rules = RuleSet::build(RuleSet::shipped(), problems);
  for (const auto& problem : problems) FAIL(problem.to_string());
  return rules;
}

void check_same(const Line& a, const Line& b) {
  CAPTURE(a.raw);
  CHECK(a.offset == b.offset);
  CHECK(a.length == b.length);
  CHECK(a.raw == b.raw);
  CHECK(a.terminator == b.terminator);
  CHECK(a.output == b.output);
  CHECK(a.transport == b.transport);
  CHECK(a.flags == b.flags);
  CHECK(a.text_begin == b.text_begin);
  CHECK(a.header_begin == b.header_begin);
  CHECK(a.body_begin == b.body_begin);
  CHECK(a.head == b.head);
  CHECK(a.time == b.time);
  CHECK(a.severity == b.severity);
  CHECK(a.callsite == b.callsite);
  CHECK(a.template_id == b.template_id);
  CHECK(a.wrapper_rank == b.wrapper_rank);
  CHECK(a.iteration == b.iteration);
  CHECK(a.events == b.events);
  REQUIRE(a.meta.size() == b.meta.size());
  for (std::size_t i = 0; i < a.meta.size(); ++i) {
    CAPTURE(a.meta[i].key);
    CHECK(test::same_meta(a.meta[i], b.meta[i]));
  }
}

// Two parsers of the same bytes: one that remembers shapes, and one that does not.
struct Pair {
  Pair(const RuleSet& rules, StreamContext given)
      : forgetful(rules), context(std::move(given)), rules_(rules) {
    quick = make(rules, 0, "");
    plain = make(forgetful, 0, "");
  }
  std::unique_ptr<StreamParser> make(const RuleSet& rules, std::uint64_t position,
                                     const std::string& state) {
    auto made = StreamParser::make(context, rules, pool, position, state);
    REQUIRE(made.ok());
    return std::move(made).value();
  }
  void feed(std::string_view bytes, UnixNanos at) {
    quick->feed(bytes, at, a);
    plain->feed(bytes, at, b);
    check();
  }
  void flush(StreamParser::Flush why, UnixNanos at) {
    quick->flush(why, at, a);
    plain->flush(why, at, b);
    check();
  }
  // A successor of the quick one; only where nothing is held.
  void restart() {
    if (quick->position() == quick->next_read()) {
      quick = make(rules_, quick->position(), quick->state());
    }
  }
  void check() {
    REQUIRE(a.lines.size() == b.lines.size());
    for (std::size_t i = 0; i < a.lines.size(); ++i) check_same(a.lines[i], b.lines[i]);
    CHECK(a.gaps.size() == b.gaps.size());
    REQUIRE(a.mappings.size() == b.mappings.size());
    for (std::size_t i = 0; i < a.mappings.size(); ++i) {
      CHECK(a.mappings[i].mapping == b.mappings[i].mapping);
    }
    CHECK(quick->state() == plain->state());
    count += a.lines.size();
    a = ParsedLines();
    b = ParsedLines();
  }

  test::ForgetfulRules forgetful;
  StreamContext context;
  const RuleSet& rules_;
  LongLinePool pool;
  std::unique_ptr<StreamParser> quick, plain;
  ParsedLines a, b;
  std::size_t count = 0;
};

// All lines of all shapes, and some whose digits decide in other ways.
std::vector<std::string> shapes() {
  std::vector<std::string> out{
      "<6>[  123.456789] NVRM: Xid 79",
      "<34>1 2026-03-04T05:06:07Z host app 7 id - text",
      "{\"level\":30,\"time\":1772600767448,\"pid\":12,\"msg\":\"step 12\"}",
      "{\"level\":\"info\",\"ts\":1772600767.448,\"msg\":\"x\",\"caller\":\"a.go:12\"}",
      ":3:rocdevice.cpp            :2614: 123456789012 us: [pid:48213 tid:0x7f3b] text",
      "solve.f90:12: error: text",
      "I0304 05:06:07.448120 48213 a.cc:12] text 12:13:14",
      "2026-03-04 05:06:07.000 | INFO | a:b:12 - 05:06:07 done",
      "[05:06:07.000] [INFO] 2026-03-04 05:06:07 twice",
      "host1: [2026-03-04 05:06:07,448] [INFO] [a.py:12:b] text",
      "host1: 12 apples",
      "host2: epoch 12 loss 0.5",
      "2026-13-45 25:61:61,000 - ERROR - text 12",
      "E1399 05:06:07.448 12 a.cc:12] text",
      "ERROR 02-30 05:06:07 [core.py:7] text",
      "25:61:61 - ERROR - text",
      "kern  :err   : [  123.456789] NVRM: Xid (PCI:0000:3b:00): 79, x",
      "local0:info  : 2026-03-04T05:06:07,123456+00:00 text 12",
      "[Rank 4] iteration 12 | loss 2.5",
      "rank=4 step=12 loss=0.5",
      "(rank 12) step 3",
      "{\"step\": 12, \"loss\": 1e400, \"lr\": 0.5}",
      "loss: 0.5 [2026-03-04 05:06:07] 12:30:45",
      "token hf_abcdefghijklmnopqrstuvwxyz0123456789 at 05:06:07",
      "[rank3]: [rank3]: [5] text at 2026-03-04",
      "[rank3]:[rank3]: Traceback (most recent call last):",
      "[rank3]:[rank4]: step 12",
      "Mar  4 05:06:07 node7 app[12]: [default3]:loss 1.5",
      "12: [1,3]<stdout>: step 12",
      "",
      "\xC3\xA9poque 12: 5",
      "\xFF 12: 5",
      "\x1b[31mERROR\x1b[0m 12"};
  for (const char* name : {"/data/formats.jsonl", "/data/unseen.jsonl", "/data/unseen_2.jsonl"}) {
    std::ifstream file(std::string(LGR_TEST_DATA) + name);
    REQUIRE(file.good());
    for (std::string text; std::getline(file, text);) {
      const auto shape = nlohmann::json::parse(text);
      if (!shape.contains("lines")) continue;
      for (const std::string line : shape["lines"]) out.push_back(line);
    }
  }
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Other digits, more of them or fewer.
std::string varied(const std::string& text, std::mt19937& random) {
  std::string out;
  const unsigned kind = random() % 8;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool later = is_digit(c) && i > 0 && is_digit(text[i - 1]);
    const char any = static_cast<char>('0' + random() % 10);
    if (!is_digit(c) || kind == 0) {
      out += c;
    } else if (kind == 1) {
      out += '9';
    } else if (kind == 2) {
      out += '0';
    } else if (kind == 3) {
      out += any;
    } else if (kind == 4) {  // a number in four is longer or shorter
      if (!later && random() % 8 == 0) out += any;
      if (!later || random() % 8 != 0) out += c;
    } else {
      // Most times stay times.
      out += later && random() % 2 == 0 ? static_cast<char>('0' + random() % 3) : c;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("Line memory: a line of a known shape gives what unwrap, header and rules find") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto rules = shipped();
  StreamContext context;
  context.stream_name = "stdout";
  Pair pair(*rules, context);
  UnixNanos at = kNoon;
  for (const std::string& shape : shapes()) {
    for (int i = 0; i < 14; ++i) {
      pair.feed((i < 3 ? shape : varied(shape, random)) + "\n", at += random() % kSecond);
    }
  }
  CHECK(pair.count > 3000);
}

TEST_CASE("Line memory: streams of mixed lines in any state give what they give without it") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto rules = shipped();
  const auto all = shapes();
  for (int round = 0; round < 60; ++round) {
    StreamContext context;
    context.stream_name = random() % 4 == 0 ? "kernel" : "stdout";
    context.slurm_step = random() % 2 == 0;
    context.imported = random() % 4 == 0;
    if (random() % 2 == 0) context.process_rank = 3;
    if (random() % 2 == 0) context.rank_from_process = true;
    if (random() % 3 == 0) context.utc_offset_minutes = 60;
    Pair pair(*rules, context);
    UnixNanos at = kNoon;
    // A few shapes, which then come often.
    std::vector<std::string> few;
    for (int i = 0; i < 12; ++i) few.push_back(all[random() % all.size()]);
    std::string prefix;
    if (random() % 3 == 0) prefix = random() % 2 == 0 ? "3: " : "[rank1]: ";
    for (int i = 0; i < 80; ++i) {
      std::string line = varied(few[random() % few.size()], random);
      if (random() % 4 != 0) line.insert(0, prefix);
      if (random() % 12 == 0) {  // pieces of a container
        line =
            "2026-03-04T05:06:07.1Z stdout " + std::string(random() % 2 == 0 ? "P " : "F ") + line;
      }
      if (random() % 16 == 0 && !line.empty()) line[random() % line.size()] = ' ';
      line += random() % 16 == 0 ? "\r" : random() % 16 == 0 ? "\r\n" : "\n";
      pair.feed(line, at += random() % (kSecond / 4));
      if (random() % 24 == 0) pair.flush(StreamParser::Flush::idle, at += kSecond);
      if (random() % 24 == 0) pair.restart();
    }
    pair.flush(StreamParser::Flush::closed, at);
  }
}

TEST_CASE("Line memory: it tells what it holds, what it found and what it replaced") {
  const LineMemoryCounters before = line_memory_counters();
  const std::string line = "2026-03-04 05:06:07 INFO a.py:12 text";
  std::uint64_t with_memory = 0;
  {
    LineMemory memory;
    with_memory = line_memory_counters().bytes;
    CHECK(with_memory > before.bytes);
    LineMemory::Shape shape;
    LogHeader header;
    CHECK(memory.find(line, 1, shape, header) == nullptr);
    CHECK_FALSE(shape.worth_it);
    CHECK(memory.find(line, 1, shape, header) == nullptr);
    REQUIRE(shape.worth_it);
    memory.put(shape, LineReading::make(line, UnwrapMode(), KnownHosts()));
    CHECK(memory.find("2027-01-31 23:59:59 INFO a.py:99 text", 1, shape, header) != nullptr);
    LineMemoryCounters now = line_memory_counters();
    CHECK(now.entries == before.entries + 1);
    CHECK(now.bytes > with_memory + line.size());
    CHECK(now.hits == before.hits + 1);
    CHECK(now.misses == before.misses + 2);
    CHECK(now.replaced == before.replaced);
    // More shapes than there is room for.
    for (std::uint64_t context = 2; context < 20'000; ++context) {
      memory.find("text", context, shape, header);
      memory.put(shape, std::nullopt);
    }
    now = line_memory_counters();
    CHECK(now.entries == before.entries + 4096);
    CHECK(now.replaced > before.replaced + 10'000);
    // None of them was of use: a shape has to come more often now.
    memory.find("word", 1, shape, header);
    memory.find("word", 1, shape, header);
    CHECK_FALSE(shape.worth_it);
    for (int i = 0; i < 8; ++i) memory.find("word", 1, shape, header);
    CHECK(shape.worth_it);
  }
  CHECK(line_memory_counters().entries == before.entries);
  CHECK(line_memory_counters().bytes == before.bytes);
  CHECK(line_memory_counters().misses > before.misses + 2);
}

TEST_CASE("Line reading: times of the usual form are read as their reader reads them") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto read = [](std::string_view text, LogHeader& header) {
    const auto found = parse_header(text);
    if (found) header = *found;
    return found.has_value();
  };
  for (const char* shape :
       {"2026-03-04 05:06:07 INFO text", "2026/03/04T05:06:07.448120 INFO text",
        "[2026-03-04 05:06:07,448] [INFO] text", "2026-03-04 05:06:07 +0100 INFO text",
        "2026-03-04 05:06:07.448-0800 INFO text", "2026-03-04 05:06:07 PM INFO text",
        "2026-03-04 05:06:07.448.120 INFO text", "2026-03-04 05:06:07.448123456789 INFO text"}) {
    const auto reading = LineReading::make(shape, UnwrapMode(), KnownHosts());
    if (!reading) continue;
    for (int i = 0; i < 400; ++i) {
      std::string line = shape;
      for (std::size_t k = 0; k < line.size(); ++k) {
        if (!is_digit(line[k]) || random() % 3 == 0) continue;
        const bool second = k > 0 && is_digit(line[k - 1]);
        line[k] = static_cast<char>('0' + random() % (second ? 10 : 3));
      }
      CAPTURE(line);
      LogHeader quick, plain;
      if (!reading->read(line, quick)) continue;
      REQUIRE(read(line, plain));
      REQUIRE(quick.time.has_value() == plain.time.has_value());
      if (!quick.time) continue;
      CHECK(as_utc(*quick.time, kNoon) == as_utc(*plain.time, kNoon));
      CHECK(quick.time->utc_offset_minutes == plain.time->utc_offset_minutes);
      CHECK(quick.time->nanos == plain.time->nanos);
    }
  }
}

TEST_CASE("Line reading: a time that is none makes it another line") {
  const auto reading =
      LineReading::make("2026-03-04 05:06:07 INFO a.py:12 text", UnwrapMode(), KnownHosts());
  REQUIRE(reading);
  LogHeader header;
  REQUIRE(reading->read("2027-01-31 23:59:59 INFO a.py:99 text", header));
  CHECK(header.file_line == "99");
  CHECK(header.time->month == 1);
  CHECK_FALSE(reading->read("2027-02-30 23:59:59 INFO a.py:99 text", header));
  CHECK_FALSE(reading->read("2027-01-31 24:00:00 INFO a.py:99 text", header));
  const auto none =
      LineReading::make("2026-13-45 25:61:61 INFO a.py:12 text", UnwrapMode(), KnownHosts());
  REQUIRE(none);
  REQUIRE(none->read("2027-02-30 23:59:59 INFO a.py:99 text", header));
  CHECK(header.file_line == "99");
  CHECK_FALSE(header.time.has_value());
  CHECK_FALSE(none->read("2027-01-31 23:59:59 INFO a.py:99 text", header));
}

TEST_CASE("Line reading: where a digit is a level, it has to be that digit") {
  const auto reading = LineReading::make(
      R"({"level":30,"time":1772600767448,"pid":12,"msg":"step"})", UnwrapMode(), KnownHosts());
  REQUIRE(reading);
  LogHeader header;
  CHECK(reading->read(R"({"level":30,"time":1772600767999,"pid":77,"msg":"step"})", header));
  CHECK_FALSE(reading->read(R"({"level":50,"time":1772600767999,"pid":77,"msg":"step"})", header));
}

}  // namespace logarithm
