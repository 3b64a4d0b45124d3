#include <doctest/doctest.h>

#include "tests/unit/common/line/parser_fixture.h"

// When a bare `12: ` is a task's label.
namespace logarithm {
namespace {

using namespace test;

std::string labelled(int lines, int from = 0) {
  std::string out;
  for (int i = from; i < from + lines; ++i) out += std::to_string(i % 16) + ": text\n";
  return out;
}

}  // namespace

TEST_CASE("Weak wrapper: twenty lines that all bear it are enough, held until then") {
  ParsedStream stream;
  CHECK(stream.feed(labelled(19)).empty());
  CHECK(stream.parser->position() == 0);
  CHECK(stream.parser->next_read() > 0);
  const auto& lines = stream.feed(labelled(1, 19));
  REQUIRE(lines.size() == 20);
  CHECK(lines[0].wrapper_rank == 0);
  CHECK(lines[19].wrapper_rank == 3);
  CHECK(body_of(lines[19]) == "text");
  CHECK(stream.parser->position() == stream.parser->next_read());
  // From then on each line that bears it, and those that do not are text.
  stream.feed("srun: done\n7: x\n");
  CHECK_FALSE(lines[20].wrapper_rank.has_value());
  CHECK(lines[21].wrapper_rank == 7);
}

TEST_CASE("Weak wrapper: one line of the first twenty without it, and it never was") {
  ParsedStream stream;
  const auto& lines = stream.feed(labelled(19) + "other\n" + labelled(30));
  REQUIRE(lines.size() == 50);
  for (const Line& line : lines) {
    CHECK_FALSE(line.wrapper_rank.has_value());
    CHECK(line.header_begin == 0);
  }
}

TEST_CASE("Weak wrapper: a stream whose first line has none is not held at all") {
  ParsedStream stream;
  CHECK(stream.feed("text\n").size() == 1);
  CHECK(stream.feed("3: text\n").size() == 2);
  CHECK_FALSE(stream.out.lines[1].wrapper_rank.has_value());
}

TEST_CASE("Weak wrapper: two are enough when the stream closes, one is not") {
  ParsedStream two;
  CHECK(two.whole(labelled(2))[1].wrapper_rank == 1);
  ParsedStream one;
  const auto& lines = one.whole(labelled(1));
  CHECK_FALSE(lines[0].wrapper_rank.has_value());
  CHECK(body_of(lines[0]) == "0: text");
  ParsedStream both;  // P1 is the same wrapper
  CHECK(both.whole("P1  3: a\n 4: b\n")[0].wrapper_rank == 3);
  CHECK(meta_text(both.out.lines[0], "het") == "1");
  ParsedStream mixed;  // another is not
  CHECK_FALSE(mixed.whole("3: a\n[4]:b\n")[0].wrapper_rank.has_value());
}

TEST_CASE("Weak wrapper: two are enough when a second passes, by a flush or by what comes next") {
  ParsedStream flushed;
  flushed.feed(labelled(2));
  CHECK(flushed.idle(kNoon + kSecond)[1].wrapper_rank == 1);
  ParsedStream fed;
  fed.feed(labelled(2));
  const auto& lines = fed.feed("7: more\n", kNoon + kSecond);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].wrapper_rank == 0);
  CHECK(lines[2].wrapper_rank == 7);
}

TEST_CASE("Weak wrapper: a first line alone leaves as text, and the next ones decide") {
  ParsedStream stream;
  stream.feed("3: importing\n");
  CHECK_FALSE(stream.idle(kNoon + kSecond)[0].wrapper_rank.has_value());
  const std::string state = stream.parser->state();
  const auto position = stream.parser->position();
  CHECK(position == 13);
  stream.restart(position, state);
  stream.feed("4: x\n", kNoon + 60 * kSecond);
  CHECK(stream.idle(kNoon + 61 * kSecond)[1].wrapper_rank == 4);
}

TEST_CASE("Weak wrapper: the process or the file's name makes a label credible at once") {
  StreamContext slurm;
  slurm.slurm_step = true;
  ParsedStream stream(slurm);
  const auto& lines = stream.whole("job starts\n 3: text\n[4]:no label\n");
  CHECK_FALSE(lines[0].wrapper_rank.has_value());
  CHECK(lines[1].wrapper_rank == 3);
  CHECK_FALSE(lines[2].wrapper_rank.has_value());
}

TEST_CASE("Weak wrapper: templates of torchrun, in a container too") {
  ParsedStream stream;
  const auto& lines = stream.whole(
      "2026-03-04T05:06:07Z stdout F [12]:loss 2.3\n"
      "2026-03-04T05:06:07Z stdout F [trainer13|5]:loss 2.3\n");
  CHECK(lines[0].wrapper_rank == 12);
  CHECK(body_of(lines[0]) == "loss 2.3");
  CHECK(lines[1].wrapper_rank == 13);
  CHECK(meta_text(lines[1], "local_rank") == "5");
}

TEST_CASE("Weak wrapper: pdsh over srun's labels gives host and rank") {
  ParsedStream stream;
  std::string bytes;
  for (int i = 0; i < 20; ++i) {
    bytes +=
        "node" + std::to_string(i % 2) + (i < 10 ? ":  " : ": ") + std::to_string(i) + ": text\n";
  }
  const auto& lines = stream.feed(bytes + "node1:  7: [rank7]: x\nnode1: srun: done\n");
  REQUIRE(lines.size() == 22);
  CHECK(lines[0].wrapper_rank == 0);
  CHECK(lines[13].wrapper_rank == 13);
  CHECK(body_of(lines[13]) == "text");
  REQUIRE(meta_of(lines[13], "host") != nullptr);
  CHECK(std::get<std::string>(*meta_of(lines[13], "host")) == "node1");
  CHECK(lines[20].wrapper_rank == 7);
  CHECK(body_of(lines[20]) == "x");
  CHECK_FALSE(lines[21].wrapper_rank.has_value());
  // Words that are no machine's name.
  for (const std::string word : {"epoch", "error", "step"}) {
    ParsedStream other;
    std::string text;
    for (int i = 0; i < 30; ++i) text += word + ": " + std::to_string(i) + ": text\n";
    const auto& plain = other.whole(text);
    CHECK_FALSE(plain[25].wrapper_rank.has_value());
    CHECK(body_of(plain[25]) == word + ": 25: text");
  }
}

TEST_CASE("Weak wrapper: pdsh's hosts in front of plain text, with a header or without") {
  ParsedStream stream;
  std::string bytes;
  for (int i = 0; i < 20; ++i) {
    bytes += "host" + std::to_string(1 + i % 2) + ": line " + std::to_string(i) + "\n";
  }
  const auto& lines = stream.feed(bytes +
                                  "host3: 2026-03-04 05:06:07,448 ERROR a.py:8] x\n"
                                  "host1:\nhost1: 12: y\nhost1: epoch1: z\nno host here\n");
  REQUIRE(lines.size() == 25);
  CHECK(meta_text(lines[0], "host") == "host1");
  CHECK(meta_text(lines[19], "host") == "host2");
  CHECK(body_of(lines[19]) == "line 19");
  CHECK_FALSE(lines[19].wrapper_rank.has_value());
  CHECK(meta_text(lines[20], "host") == "host3");
  CHECK(lines[20].callsite == "a.py:8");
  CHECK(lines[20].severity == Severity::error);
  CHECK(body_of(lines[21]).empty());
  CHECK(body_of(lines[22]) == "12: y");
  CHECK_FALSE(lines[22].wrapper_rank.has_value());
  CHECK(body_of(lines[23]) == "epoch1: z");
  CHECK(body_of(lines[24]) == "no host here");
}

TEST_CASE("Weak wrapper: hosts are several, alike but for their digits, and one comes again") {
  const auto hosts = [](std::string_view bytes) {
    ParsedStream stream;
    std::size_t named = 0;
    for (const Line& line : stream.whole(bytes)) named += meta_text(line, "host").empty() ? 0u : 1u;
    return named;
  };
  CHECK(hosts("gpu-n017: a\ngpu-n018: b\ngpu-n017: c\n") == 3);
  CHECK(hosts("n1.cluster.local: a\nn12.cluster.local: b\nn1.cluster.local: c\n") == 3);
  CHECK(hosts("10.0.0.7: a\n10.0.0.12: b\n10.0.0.7: c\n") == 3);
  CHECK(hosts("gpu01: a\ngpu02: b\ngpu01: c\n") == 3);
  // A tag that only follows a host makes it one, and so do its neighbours.
  CHECK(hosts("host1: a\nhost2: [rank3]: b\nhost1: c\nhost3: d\n") == 4);
  CHECK(hosts("host1: a\nhost2: 7: b\nhost1: c\n") == 3);
  for (const std::string_view none :
       {"host1: a\nhost1: b\nhost1: c\n",         // one host
        "host1: a\nhost2: b\nhost3: c\n",         // none comes again
        "host1: a\nhost2: b\nplain\nhost1: c\n",  // not on each line
        "beta1: 0.9\nbeta2: 0.95\nlr0: 1\nbeta1: 2\n", "epoch1: a\nepoch2: b\nepoch1: c\n",
        "gpu0: 45C\ngpu1: 46C\ngpu0: 45C\n", "layer_1: a\nlayer_2: b\nlayer_1: c\n",
        "ERROR: a\nINFO: b\nERROR: c\n", "loss: 1\nlr: 2\nloss: 3\n", "0.1: a\n0.2: b\n0.1: c\n",
        "12:30:45 a\n12:30:46 b\n12:30:45 c\n"}) {
    CAPTURE(std::string(none));
    CHECK(hosts(none) == 0);
  }
  // Twenty lines, each of another host, are enough; a long banner of one is not.
  std::string all, one;
  for (int i = 0; i < 20; ++i) all += "node" + std::to_string(i) + ": up\n";
  CHECK(hosts(all) == 20);
  for (int i = 0; i < 25; ++i) one += "node1: up\n";
  CHECK(hosts(one + "node2: up\n") == 0);
}

TEST_CASE("Weak wrapper: what was seen of hosts outlives a restart") {
  ParsedStream stream;
  stream.feed("host1: a\n");
  CHECK(meta_text(stream.idle(kNoon + kSecond)[0], "host").empty());
  stream.restart(stream.parser->position(), stream.parser->state());
  stream.feed("host2: b\n", kNoon + 2 * kSecond);
  CHECK(meta_text(stream.idle(kNoon + 4 * kSecond)[1], "host").empty());
  stream.restart(stream.parser->position(), stream.parser->state());
  stream.feed("host1: c\n", kNoon + 5 * kSecond);
  CHECK(meta_text(stream.idle(kNoon + 7 * kSecond)[2], "host") == "host1");
  stream.restart(stream.parser->position(), stream.parser->state());
  CHECK(meta_text(stream.feed("host9: d\n", kNoon + 8 * kSecond)[3], "host") == "host9");
}

TEST_CASE("Weak wrapper: records and iterations of pdsh's hosts stay apart") {
  ParsedStream stream;
  const auto& lines = stream.whole(
      "host1: Traceback (most recent call last):\nhost2: fine\n"
      "host1:   File \"a.py\", line 1, in f\nhost2: still\nhost1: KeyError: 'x'\n");
  REQUIRE(lines.size() == 5);
  CHECK(lines[4].head == lines[0].offset);
  CHECK(lines[4].severity == Severity::error);
  CHECK(lines[3].severity == Severity::unset);
}

TEST_CASE("Weak wrapper: held lines are bounded") {
  ParsedStream stream;
  const std::string line = "3: " + std::string(20'000, 'x') + "\n";
  stream.feed(line);
  CHECK(stream.feed(line + line).size() == 3);
  CHECK(stream.out.lines[0].wrapper_rank == 3);
}

TEST_CASE("Weak wrapper: an import whose lines were all held takes its first time") {
  StreamContext context;
  context.imported = true;
  ParsedStream stream(context);
  const auto& lines = stream.whole("0: banner\n1: 2020-01-01 00:00:00 INFO a.py:1] x\n");
  CHECK(lines[0].time == 1'577'836'800 * kSecond);
}

}  // namespace logarithm
