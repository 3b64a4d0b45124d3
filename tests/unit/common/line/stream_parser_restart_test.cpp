#include <doctest/doctest.h>

#include <random>

#include "common/line/stream_parser.h"
#include "common/rules/rule_set.h"

// The promise that exactly-once rests on: whatever the feeds were cut into and wherever a parser is
// replaced by its successor, the same lines come out.
namespace logarithm {
namespace {

constexpr UnixNanos kAt = 1'796'040'000'000'000'000;

std::string random_bytes(std::mt19937& random) {
  static const char* const kParts[] = {"\n",
                                       "\n",
                                       "\r\n",
                                       "\r",
                                       "step=",
                                       "loss=1.5 ",
                                       "2026-11-30 12:00:00,5 INFO a.py:1] x",
                                       "I1130 12:00:00.25 7 a.cc:3] ",
                                       "Traceback (most recent call last):\n",
                                       "  File \"x\", line 1\n",
                                       "ValueError: bad\n",
                                       "[rank3]: ",
                                       "\x1b[31m",
                                       "\x1b[0m",
                                       "iteration 60 | loss 0.5 |",
                                       " ",
                                       "12"};
  std::string out;
  const auto parts = random() % 60;
  for (unsigned i = 0; i < parts; ++i) {
    switch (random() % 8) {
      case 0: out.push_back(static_cast<char>(random())); break;
      case 1:
        if (random() % 8 == 0) out.append(random() % 2 == 0 ? 5000 : 100, '\0');
        break;
      default: out += kParts[random() % std::size(kParts)];
    }
  }
  return out;
}

std::string all_bytes() {
  std::string out;
  for (int c = 0; c < 256; ++c)
    out += std::string(1, static_cast<char>(c)) + "x" + static_cast<char>(c);
  return out;
}

std::string describe(const Line& line) {
  std::string out = std::to_string(line.offset) + "+" + std::to_string(line.length) + " f" +
                    std::to_string(line.flags) + " h" + std::to_string(line.head) + " t" +
                    std::to_string(line.time) + " s" + std::string(to_string(line.severity)) +
                    " c" + line.callsite + " T" + std::to_string(line.template_id) + " b" +
                    std::to_string(line.body_begin);
  if (line.iteration) out += " i" + std::to_string(*line.iteration);
  if (line.wrapper_rank) out += " r" + std::to_string(*line.wrapper_rank);
  for (const auto& pair : line.meta) out += " " + pair.key;
  return out + " |" + line.raw;
}

std::vector<std::string> describe(const ParsedLines& parsed) {
  std::vector<std::string> out;
  for (const auto& line : parsed.lines) out.push_back(describe(line));
  for (const auto& gap : parsed.gaps) {
    out.push_back("gap " + std::to_string(gap.from) + "-" + std::to_string(gap.to.value_or(0)));
  }
  return out;
}

struct Runner {
  Runner() {
    std::vector<RuleProblem> problems;
    rules = RuleSet::build(RuleSet::shipped(), problems);
    context.utc_offset_minutes = 0;
  }

  std::unique_ptr<StreamParser> make(std::uint64_t position, const std::string& state) {
    auto made = StreamParser::make(context, *rules, pool, position, state);
    REQUIRE(made.ok());
    return std::move(made).value();
  }

  ParsedLines whole(const std::string& bytes) {
    ParsedLines out;
    auto parser = make(0, "");
    parser->feed(bytes, kAt, out);
    parser->flush(StreamParser::Flush::closed, kAt, out);
    return out;
  }

  ParsedLines cut_and_restarted(const std::string& bytes, std::mt19937& random) {
    ParsedLines out;
    auto parser = make(0, "");
    while (parser->next_read() < bytes.size()) {
      const auto left = bytes.size() - parser->next_read();
      const auto size = std::min<std::size_t>(left, 1 + random() % (random() % 3 == 0 ? 2000 : 7));
      parser->feed(std::string_view(bytes).substr(parser->next_read(), size), kAt, out);
      // Seldom enough to get past a long unfinished line at all.
      if (random() % 8 == 0) {
        const std::uint64_t position = parser->position();
        const std::string state = parser->state();
        parser = make(position, state);
        CHECK(parser->state() == state);
        CHECK(parser->next_read() == position);
        const auto again = std::min<std::size_t>(bytes.size() - position, 12'000);
        parser->feed(std::string_view(bytes).substr(position, again), kAt, out);
      }
    }
    parser->flush(StreamParser::Flush::closed, kAt, out);
    return out;
  }

  std::shared_ptr<const RuleSet> rules;
  LongLinePool pool;
  StreamContext context;
};

// Puts the file together again; left-out bytes as in the original.
void check_covers(const ParsedLines& parsed, const std::string& bytes) {
  std::string rebuilt;
  std::size_t gap = 0;
  auto fill = [&](std::uint64_t to) {
    while (gap < parsed.gaps.size() && parsed.gaps[gap].from == rebuilt.size() &&
           rebuilt.size() < to) {
      rebuilt += bytes.substr(rebuilt.size(), *parsed.gaps[gap].to - parsed.gaps[gap].from);
      ++gap;
    }
  };
  for (const auto& line : parsed.lines) {
    fill(line.offset);
    REQUIRE(line.offset == rebuilt.size());
    rebuilt += line.raw;
    rebuilt += bytes_of(line.terminator);
    REQUIRE(line.end() == rebuilt.size());
    REQUIRE(line.head <= line.offset);
    REQUIRE(line.body_begin <= line.raw.size());
  }
  fill(bytes.size());
  REQUIRE(rebuilt == bytes);
}

}  // namespace

TEST_CASE("Stream parser: lines and gaps give the file back, byte by byte") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Runner runner;
  check_covers(runner.whole(all_bytes()), all_bytes());
  for (int round = 0; round < 300; ++round) {
    const std::string bytes = random_bytes(random);
    check_covers(runner.whole(bytes), bytes);
  }
}

TEST_CASE("Stream parser: cuts of feeds and successors change nothing") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Runner runner;
  for (int round = 0; round < 150; ++round) {
    const std::string bytes = random_bytes(random) + (round == 0 ? all_bytes() : "");
    const auto expected = describe(runner.whole(bytes));
    const auto found = describe(runner.cut_and_restarted(bytes, random));
    REQUIRE(found == expected);
  }
}

TEST_CASE("Stream parser: idle flushes anywhere lose and repeat nothing") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Runner runner;
  for (int round = 0; round < 150; ++round) {
    const std::string bytes = random_bytes(random);
    ParsedLines out;
    auto parser = runner.make(0, "");
    while (parser->next_read() < bytes.size()) {
      parser->feed(std::string_view(bytes).substr(parser->next_read(), 1 + random() % 30), kAt,
                   out);
      if (random() % 3 == 0) parser->flush(StreamParser::Flush::idle, kAt, out);
      if (random() % 5 == 0) parser = runner.make(parser->position(), parser->state());
    }
    parser->flush(StreamParser::Flush::closed, kAt, out);
    check_covers(out, bytes);
  }
}

}  // namespace logarithm
