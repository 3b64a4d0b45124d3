#include <doctest/doctest.h>

#include <random>

#include "tests/unit/common/line/parser_fixture.h"

// Container runtimes cut long lines into pieces; the pieces become one line again.
namespace logarithm {
namespace {

using namespace test;

std::string cri(const char* output, const char* flag, const std::string& text) {
  return std::string("2026-03-04T05:06:07.448120903Z ") + output + " " + flag + " " + text + "\n";
}

std::string docker(const char* output, const std::string& escaped) {
  return "{\"log\":\"" + escaped + "\",\"stream\":\"" + output +
         "\",\"time\":\"2026-03-04T05:06:07.448120903Z\"}\n";
}

std::string describe(const Line& line) {
  std::string out = std::to_string(line.offset) + "+" + std::to_string(line.length) + " f" +
                    std::to_string(line.flags) + " h" + std::to_string(line.head) + " t" +
                    std::to_string(line.time) + " o" +
                    std::to_string(static_cast<int>(line.output)) + " x" +
                    std::to_string(line.transport) + " T" + std::to_string(line.template_id) + " " +
                    std::to_string(line.text_begin) + "," + std::to_string(line.header_begin) +
                    "," + std::to_string(line.body_begin);
  if (line.wrapper_rank) out += " r" + std::to_string(*line.wrapper_rank);
  for (const Extent& extent : line.extents) {
    out += " [" + std::to_string(extent.offset) + " " + std::to_string(extent.length) + " " +
           std::to_string(extent.prefix) + "]";
  }
  for (const auto& pair : line.meta) out += " " + pair.key + "=" + meta_text(line, pair.key);
  return out + " |" + line.raw;
}

std::vector<std::string> describe(const std::vector<Line>& lines) {
  std::vector<std::string> out;
  for (const Line& line : lines) out.push_back(describe(line));
  return out;
}

const std::string& mixed_file() {
  static const std::string file =
      cri("stdout", "P", "[rank3]: one ") + cri("stderr", "F", "between") +
      cri("stdout", "P", "two ") + cri("stderr", "P", "e1 ") + cri("stdout", "F", "three") +
      cri("stderr", "F", "e2") + docker("stdout", "[rank4]: a ") + docker("stderr", "x\\n") +
      docker("stdout", "\\\"b\\\"\\n") + cri("stdout", "P", "bar 1%\rbar 2%") +
      cri("stdout", "F", " done") + "3: plain\n" + cri("stderr", "P", "never ended");
  return file;
}

}  // namespace

TEST_CASE("Intake: case 30: a 40 KiB line of docker's json-file is one line again") {
  std::string text;
  while (text.size() < 40u << 10) text += "0123456789abcdef";
  std::string file;
  for (std::size_t at = 0; at < text.size(); at += 16u << 10) {
    const bool last = at + (16u << 10) >= text.size();
    file += docker("stdout", text.substr(at, 16u << 10) + (last ? "\\n" : ""));
  }
  ParsedStream stream;
  const auto& lines = stream.feed(file);
  REQUIRE(lines.size() == 1);
  CHECK(text_of(lines[0]) == text);
  CHECK(lines[0].extents.size() == 3);
  CHECK(lines[0].length == file.size());
  CHECK(lines[0].output == Output::out);
  CHECK_FALSE(lines[0].has(line_flag::partial));
  CHECK(exported(lines) == file);
}

TEST_CASE("Intake: case 30: pieces of stdout and stderr do not mix, whatever their order") {
  const std::string file = docker("stdout", "a1 ") + docker("stderr", "b1 ") +
                           docker("stdout", "a2\\n") + docker("stderr", "b2\\n") +
                           docker("stdout", "c\\n");
  ParsedStream stream;
  const auto& lines = stream.feed(file);
  REQUIRE(lines.size() == 3);
  CHECK(text_of(lines[0]) == "a1 a2");
  CHECK(lines[0].output == Output::out);
  CHECK(text_of(lines[1]) == "b1 b2");
  CHECK(lines[1].output == Output::err);
  CHECK(text_of(lines[2]) == "c");
  CHECK(exported(lines) == file);
}

TEST_CASE("Intake: docker's lines are unwrapped whatever the order of their keys and the blanks") {
  const std::string time = R"("2026-03-04T05:06:07.448120903Z")";
  const std::vector<std::string> forms{
      R"({"log": "[rank3]: a\n", "stream": "stderr", "time": )" + time + "}",
      R"({"stream":"stderr","log":"[rank3]: a\n","time":)" + time + "}",
      R"({"time":)" + time + R"(,"stream":"stderr","log":"[rank3]: a\n"})",
      R"({ "attrs" : {"tag": "x"} , "time" : )" + time +
          R"( , "log" : "[rank3]: a\n" , "stream" : "stderr" } )",
  };
  for (const std::string& form : forms) {
    CAPTURE(form);
    ParsedStream stream;
    const auto& lines = stream.feed(form + "\n");
    REQUIRE(lines.size() == 1);
    CHECK(text_of(lines[0]) == "[rank3]: a");
    CHECK(lines[0].wrapper_rank == 3);
    CHECK(lines[0].output == Output::err);
    CHECK(lines[0].time == kNoon + 448'120'903);
    CHECK_FALSE(lines[0].has(line_flag::derived_time));
    CHECK(exported(lines) == form + "\n");
  }
}

TEST_CASE("Intake: pieces of any of docker's forms are joined by their output") {
  const auto spread = [](const std::string& output, const std::string& log) {
    return R"({"stream": ")" + output + R"(", "log": ")" + log +
           R"(", "time": "2026-03-04T05:06:07.448120903Z"})" + "\n";
  };
  const std::string file = spread("stdout", "a1 ") + docker("stderr", "b1 ") +
                           docker("stdout", "a2 ") + spread("stderr", "b2\\n") +
                           spread("stdout", "a3\\n");
  ParsedStream stream;
  const auto& lines = stream.feed(file);
  REQUIRE(lines.size() == 2);
  CHECK(text_of(lines[0]) == "a1 a2 a3");
  CHECK(text_of(lines[1]) == "b1 b2");
  CHECK(lines[1].output == Output::err);
  REQUIRE(lines[0].extents.size() == 3);
  CHECK(lines[0].extents[0].prefix == std::string_view(R"({"stream": "stdout", "log": ")").size());
  CHECK(lines[0].extents[1].prefix == std::string_view(R"({"log":")").size());
  CHECK(exported(lines) == file);
}

TEST_CASE("Intake: a program's own object is no line of docker's") {
  for (const std::string object :
       {R"({"stream":"stdout","time":"2026-03-04T05:06:07Z"})",
        R"({"log": {"a": 1}, "stream": "stdout", "time": "2026-03-04T05:06:07Z"})",
        R"({"time": "2026-03-04T05:06:07Z", "log": "x", "stream": "stdout", "loss": 2.31})",
        R"({"stream": "train", "log": "x", "time": "2026-03-04T05:06:07Z"})",
        R"({"log": "a", "log": "b", "stream": "stdout", "time": "2026-03-04T05:06:07Z"})", "{",
        R"({ ")", R"({"step": 1})"}) {
    ParsedStream stream;
    const auto& lines = stream.whole(object + "\n");
    REQUIRE(lines.size() == 1);
    CHECK(text_of(lines[0]) == object);
    CHECK(lines[0].output == Output::unset);
  }
}

TEST_CASE("Intake: CRI: P pieces are joined until F, with extents") {
  const std::string a = cri("stdout", "P", "[rank3]: one "), b = cri("stderr", "F", "between"),
                    c = cri("stdout", "F", "two");
  ParsedStream stream;
  CHECK(stream.feed(a + b).empty());
  CHECK(stream.parser->position() == 0);
  const auto& lines = stream.feed(c);
  REQUIRE(lines.size() == 2);
  CHECK(text_of(lines[0]) == "[rank3]: one two");
  CHECK(body_of(lines[0]) == "one two");
  CHECK(lines[0].wrapper_rank == 3);
  REQUIRE(lines[0].extents.size() == 2);
  CHECK(lines[0].extents[0] == Extent{0, static_cast<std::uint32_t>(a.size()), 40});
  CHECK(lines[0].extents[1] ==
        Extent{a.size() + b.size(), static_cast<std::uint32_t>(c.size()), 40});
  CHECK(text_of(lines[1]) == "between");
  CHECK(exported(lines) == a + b + c);
  CHECK(meta_text(lines[0], "flag") == "F");
}

TEST_CASE("Intake: escapes of JSON are decoded, also across pieces of a character") {
  ParsedStream stream;
  const auto& lines = stream.feed(
      docker("stdout", "\\u001b[31mred\\u001b[0m \\u00e9 \\ud83d\\ude00 \\\\n \\/ tab\\t") +
      docker("stdout", "end\\r\\n"));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].has(line_flag::ansi));
  CHECK(text_of(lines[0]) == "red \xc3\xa9 \xf0\x9f\x98\x80 \\n / tab\tend");
  ParsedStream broken;
  CHECK(text_of(broken.feed(docker("stdout", "\\ud83d \\uZZZZ \\q\\n"))[0]) ==
        "\xef\xbf\xbd \\uZZZZ \\q");
}

TEST_CASE("Intake: a piece that waits too long leaves as it is, the rest is glued to it") {
  ParsedStream stream;
  stream.feed(cri("stdout", "P", "E0304 05:06:07.448120 7 a.cc:1] half"));
  CHECK(stream.idle(kNoon + kSecond).size() == 1);
  CHECK(stream.out.lines[0].has(line_flag::partial));
  CHECK(text_of(stream.out.lines[0]) == "E0304 05:06:07.448120 7 a.cc:1] half");
  const std::string state = stream.parser->state();
  stream.restart(stream.parser->position(), state);
  const auto& lines = stream.feed(cri("stderr", "F", "other") + cri("stdout", "P", " more") +
                                  cri("stdout", "F", " rest") + cri("stdout", "F", "next"));
  REQUIRE(lines.size() == 5);
  CHECK(text_of(lines[1]) == "other");
  CHECK_FALSE(lines[1].has(line_flag::glued));
  for (int i : {2, 3}) {
    CHECK(lines[i].has(line_flag::glued));
    CHECK(lines[i].head == lines[0].offset);
    CHECK(lines[i].severity == Severity::error);
  }
  CHECK(lines[2].has(line_flag::partial));
  CHECK_FALSE(lines[3].has(line_flag::partial));
  CHECK(text_of(lines[3]) == " rest");
  CHECK_FALSE(lines[4].has(line_flag::glued));
}

TEST_CASE("Intake: time passes with what is fed, too") {
  ParsedStream stream;
  stream.feed(cri("stdout", "P", "half"));
  const auto& lines = stream.feed(cri("stdout", "F", "rest"), kNoon + kSecond);
  REQUIRE(lines.size() == 2);
  CHECK(lines[1].has(line_flag::glued));
}

TEST_CASE("Intake: a join is bounded at a MiB, and nothing is lost") {
  std::string file;
  const std::string piece(16u << 10, 'x');
  for (int i = 0; i < 80; ++i) file += cri("stdout", "P", piece);
  file += cri("stdout", "F", "end");
  ParsedStream stream;
  stream.feed(file);
  const auto& lines = stream.close();
  CHECK(lines.size() > 1);
  CHECK(exported(lines) == file);
  CHECK(lines[0].raw.size() <= StreamParser::kMaxLine);
  CHECK(lines[0].has(line_flag::partial));
  CHECK(lines.back().has(line_flag::glued));
  CHECK(lines.back().head == 0);
}

TEST_CASE("Intake: without room in the pool pieces leave one by one") {
  std::string file;
  for (int i = 0; i < 6; ++i) file += cri("stdout", "P", std::string(16u << 10, 'x'));
  file += cri("stdout", "F", "end");
  ParsedStream stream;
  stream.pool = LongLinePool(0);
  stream.feed(file);
  const auto& lines = stream.close();
  CHECK(exported(lines) == file);
  CHECK(lines.size() >= 4);
}

TEST_CASE("Intake: lines behind a piece are held within bounds") {
  ParsedStream stream;
  stream.feed(cri("stdout", "P", "half"));
  std::string file;
  for (int i = 0; i < 400; ++i) file += cri("stderr", "F", std::string(200, 'e'));
  // One line alone may wait, but it must not be long.
  stream.feed(file);
  stream.feed(cri("stderr", "P", "second"));
  CHECK(stream.out.lines.size() >= 401);
}

TEST_CASE("Intake: case 61: a clock that is set back holds nothing up") {
  ParsedStream stream;
  stream.feed(cri("stdout", "P", "half"));
  stream.feed(cri("stderr", "F", "behind it"));
  REQUIRE(stream.out.lines.empty());
  stream.feed(cri("stderr", "F", "next"), kNoon - 3600 * kSecond);
  CHECK(stream.out.lines.size() >= 2);
}

TEST_CASE("Intake: pieces, successors at every cut: the same lines") {
  const std::string& file = mixed_file();
  ParsedStream whole;
  whole.whole(file);
  CHECK(exported(whole.out.lines) == file);
  const auto expected = describe(whole.out.lines);
  for (std::size_t cut = 0; cut <= file.size(); ++cut) {
    CAPTURE(cut);
    ParsedStream stream;
    stream.feed(file.substr(0, cut));
    const auto position = stream.parser->position();
    const std::string state = stream.parser->state();
    stream.restart(position, state);
    REQUIRE(stream.parser->state() == state);
    stream.feed(file.substr(position));
    stream.close();
    REQUIRE(describe(stream.out.lines) == expected);
  }
}

TEST_CASE("Intake: idle flushes at every cut lose and repeat nothing") {
  const std::string& file = mixed_file();
  for (std::size_t cut = 0; cut <= file.size(); ++cut) {
    CAPTURE(cut);
    ParsedStream stream;
    stream.feed(file.substr(0, cut));
    stream.idle(kNoon + kSecond);
    REQUIRE(stream.parser->position() == cut);
    const std::string state = stream.parser->state();
    stream.restart(cut, state);
    stream.feed(file.substr(cut), kNoon + kSecond);
    stream.close(kNoon + kSecond);
    REQUIRE(exported(stream.out.lines) == file);
  }
}

TEST_CASE("Intake: random pieces, random cuts, random successors: the same lines and all bytes") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string parts[] = {cri("stdout", "P", "a"),
                               cri("stdout", "F", "b"),
                               cri("stderr", "P", "[rank3]: c"),
                               cri("stderr", "F", "[rank4]: d"),
                               docker("stdout", "e"),
                               docker("stdout", "f\\n"),
                               docker("stderr", "g"),
                               docker("stderr", "h\\n"),
                               "3: x\n",
                               "[12]:y\n",
                               "plain\n",
                               "bar\r",
                               "\n",
                               "[1,3]<stdout>:z\n",
                               "E0304 05:06:07.448120 7 a.cc:1] k\n",
                               cri("stdout", "P", "1\r2"),
                               std::string(5000, '\0')};
  for (int round = 0; round < 300; ++round) {
    std::string file;
    for (auto n = random() % 30; n > 0; --n) file += parts[random() % std::size(parts)];
    ParsedStream whole;
    whole.whole(file);
    const auto expected = describe(whole.out.lines);
    ParsedStream cut;
    while (cut.parser->next_read() < file.size()) {
      const auto size = 1 + random() % (random() % 2 == 0 ? 9 : 200);
      cut.feed(std::string_view(file).substr(cut.parser->next_read(), size));
      if (random() % 6 == 0) {
        const std::string state = cut.parser->state();
        const auto position = cut.parser->position();
        cut.restart(position, state);
        cut.feed(std::string_view(file).substr(position, 200'000));
      }
    }
    cut.close();
    REQUIRE(describe(cut.out.lines) == expected);
  }
}

TEST_CASE("Intake: a hole ends what waits, and no piece is joined across it") {
  ParsedStream stream;
  stream.feed(cri("stdout", "P", "half"));
  const auto hole = stream.parser->next_read() + 100;
  stream.parser->skip_to(hole, "nul_hole", kNoon, stream.out);
  CHECK(stream.parser->position() == hole);
  REQUIRE(stream.out.lines.size() == 1);
  const auto& lines = stream.feed(cri("stdout", "F", "rest"));
  REQUIRE(lines.size() == 2);
  CHECK_FALSE(lines[1].has(line_flag::glued));
}

}  // namespace logarithm
