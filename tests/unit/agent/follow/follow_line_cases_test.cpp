#include <doctest/doctest.h>
#include <sys/resource.h>

#include "tests/unit/agent/follow/follow_fixture.h"

// cases.md B, as far as the tail has a part in it, and how a stream begins, changes and ends.
namespace logarithm::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE(
    "case 24: a last line without newline leaves after a quiet second, later bytes are glued") {
  FollowFixture f;
  f.append("a", "a\nb");
  f.glob("a");
  f.run();
  CHECK(f.texts() == std::vector<std::string>{"a"});
  f.run(milliseconds(1100));
  f.run();
  REQUIRE(f.texts() == std::vector<std::string>{"a", "b"});
  CHECK(f.streams()[0]->lines[1].has(line_flag::partial));
  f.append("a", "c\n");
  f.run();

  const std::vector<Line>& lines = f.streams()[0]->lines;
  REQUIRE(lines.size() == 3);
  CHECK(lines[2].has(line_flag::glued));
  CHECK(lines[2].head == lines[1].offset);

  SUBCASE("also when a restart lies between") {
    f.append("a", "d");
    f.run(milliseconds(1100));
    f.run();
    f.kill();
    f.append("a", "e\n");
    f.glob("a");
    f.run();
    CHECK(f.streams()[0]->lines.back().has(line_flag::glued));
  }
}

TEST_CASE("case 26: cut anywhere, restarted anywhere, the records are the file's bytes") {
  FollowFixture f;
  std::string all;
  unsigned seed = 7;
  for (int i = 0; i < 60; ++i) {
    seed = seed * 1103515245u + 12345u;
    std::string piece;
    for (unsigned k = 0; k < seed % 90; ++k) {
      piece += (k + seed) % 11 == 0 ? '\n' : static_cast<char>('a' + (k * seed) % 26);
    }
    all += piece;
    f.append("a", piece);
    f.glob("a");
    f.run(milliseconds(seed % 7 == 0 ? 1100 : 60));
    if (seed % 5 == 0) f.kill();
  }
  f.glob("a");
  f.run(milliseconds(1100));
  f.run();

  std::string back;
  std::uint64_t at = 0;
  for (const Line& line : f.streams()[0]->lines) {
    CHECK(line.offset == at);
    at = line.end();
    back += line.raw + std::string(bytes_of(line.terminator));
  }
  CHECK(back == all);
  CHECK(f.log.problems.empty());
}

TEST_CASE("case 27: after a line of 8 MiB the next one arrives, with a gap between") {
  FollowFixture f;
  f.append("a", std::string(8u << 20, 'x') + "\nnext\n");
  f.glob("a");
  f.run();

  REQUIRE(f.streams().size() == 1);
  CHECK(f.texts().back() == "next");
  CHECK(f.streams()[0]->lines.size() == 2);
  CHECK(f.streams()[0]->lines[1].offset == (8u << 20) + 1);
  CHECK(f.log.problems.empty());
  f.kill();
  f.append("a", "after\n");
  f.glob("a");
  f.run();
  CHECK(f.texts().back() == "after");
  CHECK(f.streams().size() == 1);
}

TEST_CASE("case 32: a writer that goes on at its old offset leaves a hole, which is skipped") {
  FollowFixture f;
  const int fd = ::open(f.path("x").c_str(), O_WRONLY | O_CREAT, 0644);
  const std::string much = numbered(0, 20'000);
  REQUIRE(::write(fd, much.data(), much.size()) == static_cast<ssize_t>(much.size()));
  f.glob("x");
  f.run();
  f.cut("x");
  REQUIRE(::write(fd, "line\n", 5) == 5);
  ::close(fd);
  f.run();
  f.run();

  CHECK(f.texts().size() == 20'001);
  CHECK(f.texts().back() == "line");
  CHECK(f.follower().stats().nul_bytes == much.size());
  CHECK(f.log.problems.empty());
}

TEST_CASE("case 32: bytes that were allocated ahead are read when they are written") {
  FollowFixture f;
  f.append("x", "one\n" + std::string(400'000, '\0'));
  f.glob("x");
  f.run();
  CHECK(f.texts() == std::vector<std::string>{"one"});
  const int fd = ::open(f.path("x").c_str(), O_WRONLY);
  REQUIRE(::pwrite(fd, "two\n", 4, 4) == 4);
  ::close(fd);
  f.run();
  CHECK(f.texts() == std::vector<std::string>{"one", "two"});
}

TEST_CASE("case 33: a NUL inside a line is a byte like any other") {
  FollowFixture f;
  f.append("a", std::string("a\0b\nc\n", 6));
  f.glob("a");
  f.run();

  CHECK(f.texts() == std::vector<std::string>{std::string("a\0b", 3), "c"});
}

TEST_CASE("Follower: a full log pauses reading, and nothing is lost or repeated") {
  FollowFixture f;
  f.append("a", numbered(0, 100));
  f.glob("a");
  f.log.full = true;
  f.run();
  f.append("a", numbered(100, 5'000));
  f.run(seconds(1));
  CHECK(f.texts().empty());
  CHECK(f.follower().stats().no_space > 0);
  CHECK(f.follower().stats().bytes < 300'000);
  f.log.full = false;
  f.run(seconds(1));
  f.run();

  CHECK(f.texts().size() == 5'100);
  CHECK(f.log.problems.empty());
}

TEST_CASE("Follower: a file older than the state waits for the aggregator and goes on behind it") {
  FollowFixture f;
  f.append("a", numbered(0, 100) + "half");
  f.glob("a");
  f.run();
  f.run(milliseconds(1100));
  f.run();
  const StreamBase base = f.log.streams.begin()->first.base;
  f.oracle.stored[base] = f.log.stored(base);
  const std::vector<Line> before = f.log.streams.begin()->second.lines;
  f.kill();
  f.log.streams.clear();  // the state directory is deleted
  f.clock.advance(seconds(10));
  f.log.created = f.clock.wall_now();
  f.append("a", " and half\n" + numbered(100, 10));
  f.oracle.connected = false;
  f.glob("a");
  f.run(seconds(5));
  CHECK(f.texts().empty());
  CHECK(f.follower().waiting() == 1);
  f.oracle.connected = true;
  // The stream goes on at its end, so the log's first block does not begin at 0.
  f.run();

  REQUIRE(f.streams().size() == 1);
  const std::vector<Line>& lines = f.streams()[0]->lines;
  REQUIRE(lines.size() == 11);
  CHECK(lines[0].offset == before.back().end());
  CHECK(lines[0].has(line_flag::glued));
  CHECK(lines[0].raw == " and half");
  CHECK(f.log.streams.begin()->first.generation == 0);
}

TEST_CASE("Follower: what the aggregator holds under another head is the next generation's past") {
  FollowFixture f;
  f.append("a", numbered(0, 100));
  f.log.created = f.clock.wall_now() + 10'000'000'000;
  StoredGeneration other;
  other.generation = 4;
  other.head = "something else";
  other.ranges = {{0, 50}};
  f.glob("a");
  f.step();
  REQUIRE(f.oracle.asked.size() == 1);
  f.oracle.stored[*f.oracle.asked.begin()] = {other};
  f.kill();
  f.glob("a");
  f.run();

  // The answer that came first (nothing stored) opened generation 0 in the old run; in the new run
  // the checkpoint counts. Without one the stored generation does.
  CHECK(f.texts().size() == 100);
}

TEST_CASE("Follower: importing again is a no-op, and a grown file gives only its new lines") {
  FollowFixture f;
  f.options.once = true;
  f.append("out.log", numbered(0, 50));
  FollowTarget target = f.target("out.log");
  target.import_base = "out.log";
  f.follower().set_targets({target});
  f.run();
  CHECK(f.follower().finished());
  CHECK(f.texts().size() == 50);
  CHECK(f.log.streams.begin()->second.checkpoint.close_reason == "once");
  const StreamBase base = f.log.streams.begin()->first.base;
  f.oracle.stored[base] = f.log.stored(base);
  f.kill();
  f.log.streams.clear();

  f.follower().set_targets({target});
  f.run();
  CHECK(f.follower().finished());
  CHECK(f.log.streams.empty());
  f.kill();

  f.append("out.log", numbered(50, 5));
  f.follower().set_targets({target});
  f.run();
  CHECK(f.follower().finished());
  CHECK(f.texts().size() == 5);
}

TEST_CASE("Follower: once reads all targets, missing and empty ones included, and is finished") {
  FollowFixture f;
  f.options.once = true;
  f.append("a", "x\ny");
  f.append("b", "");
  f.follower().set_targets({f.target("a"), f.target("b"), f.target("none")});
  CHECK(!f.follower().finished());
  f.run();

  CHECK(f.follower().finished());
  CHECK(f.texts() == std::vector<std::string>{"x", "y"});
}

TEST_CASE("Follower: a requeue that appends begins a new attribute version at a line") {
  FollowFixture f;
  FollowTarget first = f.target("stdout");
  first.process = "node1/10/1796000000000000000";
  first.rank = 3;
  f.append("stdout", numbered(0, 10) + "cut off");
  f.follower().set_targets({first});
  f.run();
  FollowTarget second = first;
  second.process = "node1/20/" + std::to_string(f.clock.wall_now() + 60'000'000'000);
  second.rank = 5;
  f.follower().set_targets({second});
  f.run();
  f.append("stdout", "next process\n");
  f.run();

  REQUIRE(f.streams().size() == 1);
  const MemoryLog::Stream& stream = *f.streams()[0];
  REQUIRE(stream.versions.size() == 2);
  CHECK(stream.versions.at(0).rank == 3);
  CHECK(stream.versions.at(1).rank == 5);
  CHECK(stream.versions.at(1).from == numbered(0, 10).size() + 7);
  CHECK(stream.lines.back().raw == "next process");
  CHECK(f.log.problems.empty());
}

TEST_CASE("Follower: a process found out later corrects the version that is there") {
  FollowFixture f;
  f.append("stdout", numbered(0, 10));
  f.follower().set_targets({f.target("stdout")});
  f.run();
  FollowTarget known = f.target("stdout");
  known.process = "node1/10/" + std::to_string(f.clock.wall_now() - 1'000'000'000);
  known.rank = 3;
  known.name = "stdout";
  known.aliases = {"stderr"};
  f.follower().set_targets({known});
  f.run();

  REQUIRE(f.streams().size() == 1);
  const StreamAttributes& now = f.streams()[0]->checkpoint.attributes;
  CHECK(f.streams()[0]->versions.size() == 1);
  CHECK(now.rank == 3);
  CHECK(now.name == "stdout");
  CHECK(now.aliases == std::vector<std::string>{"stderr"});
  CHECK(now.from == 0);
}

TEST_CASE(
    "Follower: an exited process's stream closes when read and quiet, and reopens when it grows") {
  FollowFixture f;
  FollowTarget target = f.target("stdout");
  target.process = "node1/10/5";
  f.append("stdout", numbered(0, 10) + "last words");
  f.follower().set_targets({target});
  f.run();
  f.follower().process_exited("node1/10/5");
  f.run(milliseconds(1100));
  CHECK(f.texts().size() == 11);
  REQUIRE(f.streams()[0]->checkpoint.closed);
  CHECK(f.streams()[0]->checkpoint.close_reason == "exited");
  CHECK(f.streams()[0]->lines.back().has(line_flag::partial));  // case 24
  f.append("stdout", "again\n");
  f.run();
  CHECK(f.texts().size() == 11);
  CHECK(f.follower().wants_scan());
  f.follower().set_targets({target});
  f.run();

  CHECK(f.texts().size() == 12);
  CHECK(f.streams().size() == 1);
  CHECK(!f.streams()[0]->checkpoint.closed);
}

TEST_CASE("Follower: what is appended after the exit waits for the scan that finds who wrote it") {
  FollowFixture f;
  FollowTarget first = f.target("stdout");
  first.process = "node1/10/1796000000000000000";
  first.rank = 3;
  f.append("stdout", numbered(0, 10));
  f.follower().set_targets({first});
  f.run();
  f.follower().process_exited(first.process);
  SUBCASE("closed already") { f.run(milliseconds(1100)); }
  SUBCASE("not closed yet") { f.steps(); }
  f.append("stdout", "first of the next\n");
  f.run();
  f.append("stdout", "second of the next\n");
  FollowTarget second = first;
  second.process = "node1/20/" + std::to_string(f.clock.wall_now() + 60'000'000'000);
  f.follower().set_targets({second});
  f.run();

  REQUIRE(f.streams().size() == 1);
  const MemoryLog::Stream& stream = *f.streams()[0];
  CHECK(stream.lines.size() == 12);
  REQUIRE(stream.versions.size() == 2);
  CHECK(stream.versions.at(1).process == second.process);
  CHECK(stream.versions.at(1).from == numbered(0, 10).size());
  CHECK(f.log.problems.empty());
}

TEST_CASE("Follower: what is appended after the exit is read in the end, scan or not") {
  FollowFixture f;
  FollowTarget target = f.target("stdout");
  target.process = "node1/10/5";
  f.append("stdout", "a\n");
  f.follower().set_targets({target});
  f.run();
  f.follower().process_exited(target.process);
  f.append("stdout", "b\n");
  f.run();
  CHECK(f.texts().size() == 1);
  f.run(milliseconds(2100));
  f.run();
  CHECK(f.texts().size() == 2);
}

TEST_CASE(
    "Follower: a second rank that turns out to write the file too ends the first one's version") {
  FollowFixture f;
  FollowTarget alone = f.target("stdout");
  alone.process = "node1/10/1796000000000000000";
  alone.rank = 3;
  f.append("stdout", numbered(0, 10));
  f.follower().set_targets({alone});
  f.run();
  FollowTarget shared = f.target("stdout");
  shared.shared = true;
  f.follower().set_targets({shared});
  f.run();
  f.append("stdout", "whose?\n");
  f.run();

  const MemoryLog::Stream& stream = *f.streams()[0];
  REQUIRE(stream.versions.size() == 2);
  CHECK(stream.versions.at(0).rank == 3);
  CHECK(!stream.versions.at(1).rank);
  CHECK(stream.versions.at(1).process.empty());
  CHECK(stream.versions.at(1).from == numbered(0, 10).size());
}

TEST_CASE(
    "Follower: what several ranks wrote is never said to be of the next run's first process") {
  FollowFixture f;
  FollowTarget shared = f.target("stdout");
  shared.shared = true;
  f.append("stdout", numbered(0, 10));
  f.follower().set_targets({shared});
  f.run();
  FollowTarget next = f.target("stdout");
  next.process = "node1/20/" + std::to_string(f.clock.wall_now());  // soon after the file's birth
  next.rank = 0;
  f.follower().set_targets({next});
  f.run();
  f.append("stdout", "next\n");
  f.run();

  const MemoryLog::Stream& stream = *f.streams()[0];
  REQUIRE(stream.versions.size() == 2);
  CHECK(!stream.versions.at(0).rank);
  CHECK(stream.versions.at(1).rank == 0);
  CHECK(stream.versions.at(1).from == numbered(0, 10).size());
}

TEST_CASE("Follower: a stream that nobody names after a restart is read to its end and closed") {
  FollowFixture f;
  f.append("out.log", numbered(0, 10));
  f.glob("out");
  f.run();
  f.kill();
  f.append("out.log", numbered(10, 10));

  SUBCASE("under its name") {}
  SUBCASE("under a rotated name") { f.rename("out.log", "out.log.1"); }
  f.follower().set_targets({});
  f.run();
  CHECK(f.texts().size() == 20);
  f.run(seconds(6));
  f.run(seconds(6));
  CHECK(f.streams()[0]->checkpoint.closed);
}

TEST_CASE("Follower: drain() puts everything read into the log and leaves the unfinished line") {
  FollowFixture f;
  f.append("a", numbered(0, 5'000) + "unfinished");
  f.glob("a");
  REQUIRE(f.drain().ok());
  CHECK(f.texts().size() == 5'000);
  f.kill();
  f.append("a", " no more\n");
  f.glob("a");
  f.run();
  CHECK(f.texts().back() == "unfinished no more");
}

TEST_CASE("case 51: a stream that is closed, acknowledged and gone for a day is forgotten") {
  FollowFixture f;
  f.append("a", numbered(0, 3));
  f.glob("a");
  f.run();
  f.remove("a");
  f.glob("a");
  f.run(seconds(6));
  f.run(seconds(6));
  REQUIRE(f.log.streams.begin()->second.checkpoint.closed);
  CHECK(f.log.forgotten.empty());
  f.run(std::chrono::hours(25));
  CHECK(f.log.forgotten.size() == 1);
}

TEST_CASE("Follower: inotify wakes for a write, and events alone bring the bytes") {
  FollowFixture f;
  f.options.inotify = true;
  f.options.poll = std::chrono::hours(1);
  f.options.poll_unwatched = std::chrono::hours(1);
  f.append("a", "");
  f.glob("a");
  f.run();
  f.append("a", "woken\n");
  f.run();
  CHECK(f.texts() == std::vector<std::string>{"woken"});
}

TEST_CASE("case 48: without inotify (no more instances) every file is polled") {
  FollowFixture f;
  f.options.inotify = true;
  f.append("a", "before\n");
  rlimit kept{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &kept) == 0);
  const int next = ::dup(STDIN_FILENO);  // the lowest number that is free
  ::close(next);
  const rlimit none{static_cast<rlim_t>(next), kept.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  f.follower();  // inotify_init fails with EMFILE
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &kept) == 0);
  f.glob("a");
  f.run();
  f.append("a", "after\n");
  f.run();
  CHECK(f.texts() == std::vector<std::string>{"before", "after"});
}

}  // namespace logarithm::test
