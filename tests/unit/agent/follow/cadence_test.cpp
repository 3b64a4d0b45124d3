#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/agent/follow/follow_fixture.h"

// A block costs as much as dozens of lines: slow streams share them, and are cut together.
namespace logarithm::test {
namespace {

constexpr int kFiles = 64;
constexpr std::chrono::milliseconds kTurn(50);

std::string name(int file) { return "app-" + std::to_string(file) + ".log"; }

// 64 files with a line in every second turn each: 640 lines a second.
void write_slowly(FollowFixture& f, int turns, int& lines) {
  for (int turn = 0; turn < turns; ++turn) {
    f.clock.advance(kTurn);
    // Half of them in each turn.
    const int from = lines / (kFiles / 2) % 2;
    for (int file = from; file < kFiles; file += 2) f.append(name(file), numbered(lines++, 1));
    f.step();
  }
}

std::size_t blocks(const FollowFixture& f) {
  std::size_t count = 0;
  for (const auto& [id, stream] : f.log.streams) count += stream.blocks.size();
  return count;
}

void follow_many(FollowFixture& f) {
  f.options.inotify = true;
  f.options.block_age = kTurn;
  f.options.poll = f.options.poll_unwatched = std::chrono::seconds(1);
  for (int file = 0; file < kFiles; ++file) f.append(name(file), "");
  f.glob("app");
  f.steps();
}

}  // namespace

TEST_CASE("Follow: 64 slow streams make at most 100 blocks a second, all cut in few turns") {
  FollowFixture f;
  follow_many(f);
  int lines = 0;
  write_slowly(f, 60, lines);  // until their rates are known
  const std::size_t before = blocks(f);
  std::size_t turns_with_blocks = 0, now = before;
  for (int turn = 0; turn < 200; ++turn) {
    write_slowly(f, 1, lines);
    turns_with_blocks += blocks(f) != now ? 1 : 0;
    now = blocks(f);
  }

  CHECK(now - before <= 1000);  // in ten seconds
  CHECK(turns_with_blocks <= 15);
}

TEST_CASE("Follow: a line of a slow stream leaves within a second") {
  FollowFixture f;
  follow_many(f);
  int lines = 0;
  write_slowly(f, 60, lines);
  std::vector<int> written;  // after each turn
  for (int turn = 0; turn < 100; ++turn) {
    write_slowly(f, 1, lines);
    written.push_back(lines);
    const int second_ago = written[static_cast<std::size_t>(std::max(turn - 18, 0))];
    if (turn >= 18) CHECK(static_cast<int>(f.texts().size()) >= second_ago);
  }
  f.clock.advance(std::chrono::seconds(1));
  f.steps();
  CHECK(static_cast<int>(f.texts().size()) == lines);
}

TEST_CASE("Follow: beside slow streams a busy one and one after a quiet time do not wait") {
  FollowFixture f;
  follow_many(f);
  f.append("app-quiet.log", "");
  f.append("app-busy.log", "");
  f.glob("app");
  f.steps();
  int lines = 0;
  write_slowly(f, 60, lines);
  const auto holds = [&](const std::string& text) {
    const auto texts = f.texts();
    return std::find(texts.begin(), texts.end(), text) != texts.end();
  };
  f.append("app-quiet.log", "at last\n");
  write_slowly(f, 4, lines);
  CHECK(holds("at last"));
  for (int turn = 0; turn < 40; ++turn) {
    f.append("app-busy.log", numbered(1'000'000 + 100 * turn, 100));
    write_slowly(f, 1, lines);
  }
  write_slowly(f, 1, lines);
  const std::string last = numbered(1'000'000 + 100 * 39 + 99, 1);
  CHECK(holds(last.substr(0, last.size() - 1)));
}

}  // namespace logarithm::test
