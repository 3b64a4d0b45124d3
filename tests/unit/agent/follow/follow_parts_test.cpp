#include <doctest/doctest.h>
#include <poll.h>
#include <sys/stat.h>

#include "agent/follow/ending_stream.h"
#include "agent/follow/file_identity.h"
#include "agent/follow/source_state.h"
#include "tests/unit/agent/follow/follow_fixture.h"

namespace logarithm::test {

TEST_CASE(
    "is_rotation_of: a suffix of numbers, a date or a known word, before or after the extension") {
  for (const char* name : {"app.log.1", "app.log-20261130", "app.log.2026-11-30T04:00:00Z",
                           "app.log.old", "app.log_3", "app.1.log", "app-20261130.log"}) {
    CAPTURE(name);
    CHECK(is_rotation_of(name, "app.log"));
  }
  for (const char* name : {"app.log", "app.log.", "app.log.gz", "app.log.1.gz", "app.logs",
                           "app.log1", "xapp.log.1", "app.log.err", "app2.log", "app.log.--"}) {
    CAPTURE(name);
    CHECK(!is_rotation_of(name, "app.log"));
  }
  CHECK(is_rotation_path("/a/app.log.1", "/a/app.log"));
  CHECK(!is_rotation_path("/b/app.log.1", "/a/app.log"));
}

TEST_CASE(
    "live_base: host, file system, inode and birth name a file; on a network the host does not") {
  FileFacts facts;
  facts.inode = 7;
  facts.birth = 5;
  const FileSystemId local{"uuid:1", false}, shared{"uuid:1", true};
  const StreamBase base = live_base("default", "a", local, facts);

  CHECK(base == live_base("default", "a", local, facts));
  CHECK(base != live_base("other", "a", local, facts));
  CHECK(base != live_base("default", "b", local, facts));
  CHECK(live_base("default", "a", shared, facts) == live_base("default", "b", shared, facts));
  FileFacts reborn = facts;
  reborn.birth = 6;
  CHECK(base != live_base("default", "a", local, reborn));
}

TEST_CASE("import_base: job, relative path and first line; what follows does not matter") {
  CHECK(import_base("default", "j", "a/b", "one\ntwo") ==
        import_base("default", "j", "a/b", "one\n3"));
  CHECK(import_base("default", "j", "a/b", "one\n") != import_base("default", "j", "a/c", "one\n"));
  CHECK(import_base("default", "j", "a/b", "one\n") != import_base("default", "k", "a/b", "one\n"));
  CHECK(import_base("default", "j", "a/b", "one\n") != import_base("default", "j", "a/b", "won\n"));
}

TEST_CASE("PrefixDigest: the cuts do not matter, every byte and the length do") {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes.push_back(static_cast<char>(i * 31 + i / 7));
  PrefixDigest whole;
  whole.add(bytes);
  for (std::size_t piece = 1; piece < 40; ++piece) {
    PrefixDigest cut;
    for (std::size_t at = 0; at < bytes.size(); at += piece) cut.add(bytes.substr(at, piece));
    CHECK(cut.value() == whole.value());
    CHECK(cut.tail() == bytes.substr(bytes.size() - kTailBytes));
  }
  for (std::size_t at = 0; at < bytes.size(); at += 97) {
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ 1);
    PrefixDigest digest;
    digest.add(other);
    CHECK(digest.value() != whole.value());
  }
  PrefixDigest zeros, more;
  zeros.add_zeros(10);
  more.add_zeros(11);
  CHECK(zeros.value() != more.value());
}

TEST_CASE("PrefixDigest: goes on from its text; damaged text or another offset is unknown") {
  PrefixDigest digest;
  digest.add("some bytes and");
  PrefixDigest back = PrefixDigest::from_text(digest.to_text(), digest.offset(), digest.tail());
  digest.add(" more");
  back.add(" more");

  CHECK(back.known());
  CHECK(back.value() == digest.value());
  CHECK(!PrefixDigest::from_text(digest.to_text(), 3, "").known());
  for (const char* text : {"", "x", "19", "19.", "19.5", "19.5.", "99999999999999999999999.1.2"}) {
    CAPTURE(text);
    CHECK(!PrefixDigest::from_text(text, 19, "").known());
  }
}

TEST_CASE("HashLadder: bounded, and near the end it stays dense") {
  PrefixDigest digest;
  HashLadder ladder;
  for (int i = 0; i < 5000; ++i) add_with_rungs(digest, ladder, std::string(777, 'x'));

  CHECK(ladder.newest(1'000'000).size() <= HashLadder::kCapacity);
  CHECK(digest.offset() - ladder.below(digest.offset()).first < HashLadder::kStep);
  CHECK(ladder.below(10).first == 0);
  PrefixDigest again;
  const auto [offset, value] = ladder.below(digest.offset() / 2);
  REQUIRE(offset > 0);
  again.add(std::string(offset, 'x'));
  CHECK(again.value() == value);
}

TEST_CASE("SourceState: survives its JSON; anything else gives the defaults") {
  SourceState state;
  state.path = "/a/\xff b";
  state.inode = ~std::uint64_t{0};
  state.birth = -5;
  state.size = 17;
  state.rungs = {{1024, ~std::uint64_t{0}}};
  state.copies = {StreamBase{1, 2}};
  state.digest = "1.2.3";
  SourceState back = parse_source_state(to_json_text(state));
  back.path = state.path;  // bytes that are no UTF-8 are replaced
  CHECK(back == state);
  for (const char* text : {"", "{", "[]", "null", R"({"inode":"x"})", R"({"rungs":[[1]]})"}) {
    CAPTURE(text);
    CHECK(parse_source_state(text) == SourceState{});
  }
}

TEST_CASE("probably_lost: a twentieth of a line between the last look and the cut is a loss") {
  EndingFacts facts;
  facts.seen = 1'000'000'000'000;
  facts.noticed = facts.seen + 50'000'000;
  facts.new_modified = facts.noticed;
  facts.rate = 0;
  CHECK(!probably_lost(facts, facts.seen, 100));
  facts.rate = 100'000;  // a line a millisecond
  CHECK(probably_lost(facts, facts.seen, 100));
  facts.rate = 50;  // a line in two seconds: 50 ms hold a fortieth
  CHECK(!probably_lost(facts, facts.seen, 100));
  facts.rate = 2000;  // 20 a second: one in 50 ms …
  CHECK(probably_lost(facts, facts.seen, 100));
  facts.new_size = 100;  // … and that one is there, after the cut
  CHECK(!probably_lost(facts, facts.seen, 100));
}

TEST_CASE("PosixSourceFs: pipes and directories are refused without being opened") {
  FollowFixture f;
  PosixSourceFs fs;
  REQUIRE(::mkfifo(f.path("pipe").c_str(), 0600) == 0);
  const ErrorCode pipe = f.blocking(
      [&](BlockingToken& token) { return fs.open(token, f.path("pipe")).error().code(); });
  const ErrorCode directory =
      f.blocking([&](BlockingToken& token) { return fs.open(token, f.dir.path()).error().code(); });
  const ErrorCode missing = f.blocking(
      [&](BlockingToken& token) { return fs.open(token, f.path("none")).error().code(); });

  CHECK(pipe == ErrorCode::invalid);
  CHECK(directory == ErrorCode::invalid);
  CHECK(missing == ErrorCode::not_found);
}

TEST_CASE("PosixSourceFs: a descriptor knows its new name, and that it has none") {
  FollowFixture f;
  PosixSourceFs fs;
  f.append("a", "x");
  auto file = f.blocking([&](BlockingToken& token) { return fs.open(token, f.path("a")); });
  REQUIRE(file.ok());
  const auto name = [&] {
    return f.blocking([&](BlockingToken& token) { return (*file)->current_path(token); });
  };
  CHECK(name() == f.path("a"));
  f.rename("a", "b");
  CHECK(name() == f.path("b"));
  f.remove("b");
  CHECK(name().empty());
}

TEST_CASE("Follower: a name created beside a followed file wakes, a write does not") {
  FollowFixture f;
  f.options.inotify = true;
  f.append("app.log", numbered(0, 3));
  f.glob("app.log");
  f.run();
  const auto readable = [&] {
    pollfd wanted{f.follower().wake_fd(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) == 1;
  };
  f.append("app.log", numbered(3, 3));
  CHECK(!readable());
  f.copy("app.log", "app.log.1");
  CHECK(readable());
  CHECK(f.step().more);  // it is read closely, for a while
  f.append("app.log", numbered(6, 1));
  f.step();
  f.cut("app.log");
  f.step();
  f.step();
  CHECK(f.follower().stats().truncated + f.follower().stats().replaced == 1);
  f.glob("app.log");
  f.run(std::chrono::seconds(3));

  CHECK(f.texts().size() == 7);
  CHECK(f.gaps().empty());
  CHECK(!readable());
}

TEST_CASE("Follow: a line after a quiet time leaves at once, a busy stream in few blocks") {
  FollowFixture f;
  f.options.block_age = std::chrono::milliseconds(50);
  f.append("app.log", numbered(0, 1));
  f.glob("app.log");
  f.steps();
  CHECK(f.texts().size() == 1);
  f.clock.advance(std::chrono::seconds(1));
  f.append("app.log", numbered(1, 1));
  f.steps();
  CHECK(f.texts().size() == 2);
  // 5 lines at each of 100 looks, 10 ms apart.
  for (int i = 0; i < 100; ++i) {
    f.clock.advance(std::chrono::milliseconds(10));
    f.append("app.log", numbered(2 + 5 * i, 5));
    f.steps();
    CHECK(f.texts().size() + 25 >= static_cast<std::size_t>(2 + 5 * (i + 1)));
  }
  const auto& blocks = f.log.streams.begin()->second.blocks;
  CHECK(blocks.size() >= 20);
  CHECK(blocks.size() <= 23);
}

TEST_CASE("Follower: a turn ends in time, however much there is to read") {
  FollowFixture f;
  f.append("a.log", std::string(1u << 20, '\n'));
  f.glob("a");
  f.run();
  f.append("a.log", std::string(1u << 20, '\n'));
  f.clock.tick = std::chrono::milliseconds(30);

  const StepReport report = f.step();

  CHECK(report.more);
  CHECK(report.bytes > 0);
  CHECK(report.bytes <= 64u << 10);  // four reads of short lines
  f.clock.tick = {};
  f.run();
  CHECK(f.texts().size() == 2u << 20);
}

}  // namespace logarithm::test
