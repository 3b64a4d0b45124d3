#include "cli/run_relay.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <thread>

#include "tests/support/temp_dir.h"

namespace logarithm::cli {
namespace {

struct Files {
  test::TempDir dir;
  int writer = ::open(dir.file("log").c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
  int reader = ::open(dir.file("log").c_str(), O_RDONLY);
  ~Files() {
    ::close(writer);
    ::close(reader);
  }
  void write(const std::string& text) const {
    REQUIRE(::write(writer, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
};

TEST_CASE("Relay: what was written until finish() is shown, byte by byte") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const Files files;
  const int shown = ::open(files.dir.file("shown").c_str(), O_RDWR | O_CREAT, 0600);
  std::string expected;
  {
    Relay relay(files.reader, shown, [] {});
    for (int i = 0; i < 200; ++i) {
      std::string text(random() % 5000, '\0');
      for (char& c : text) c = static_cast<char>(random());
      files.write(text);
      expected += text;
    }
    relay.finish();
    files.write("after the end");
  }
  std::string got(expected.size() + 100, '\0');
  const ssize_t size = ::pread(shown, got.data(), got.size(), 0);
  got.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  CHECK(got == expected);
  ::close(shown);
}

TEST_CASE(
    "case 53: Relay: a reader that takes nothing does not hold the writer, and gets all later") {
  const Files files;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const std::string piece(64 << 10, 'x');  // as much as a pipe holds
  std::string got;
  {
    Relay relay(files.reader, ends[1], [] {});
    // Each of these would wait for ever in a pipe that is full.
    for (int i = 0; i < 64; ++i) files.write(piece);
    std::thread reader([&] {
      std::string buffer(1 << 20, '\0');
      while (got.size() < 64 * piece.size()) {
        const ssize_t size = ::read(ends[0], buffer.data(), buffer.size());
        if (size <= 0) break;
        got.append(buffer, 0, static_cast<std::size_t>(size));
      }
    });
    relay.finish();
    reader.join();
  }
  CHECK(got == std::string(64 * piece.size(), 'x'));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("Relay: a target that nobody reads any more is told once, and ends it") {
  std::signal(SIGPIPE, SIG_IGN);
  const Files files;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  int told = 0;
  files.write("text");
  {
    Relay relay(files.reader, ends[1], [&] { ++told; });
    relay.finish();
  }
  CHECK(told == 1);
  ::close(ends[1]);
}

}  // namespace
}  // namespace logarithm::cli
