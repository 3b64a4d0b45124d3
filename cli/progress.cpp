#include "cli/progress.h"

#include <cstdio>

namespace logarithm::cli {

using Time = std::chrono::steady_clock;

Progress::Progress(bool terminal)
    : terminal_(terminal), began_(Time::now()), next_(began_ + std::chrono::seconds(1)) {}

void Progress::tick(const char* what) {
  if (Time::now() >= next_) draw(what);
}

void Progress::tick(const char* what, std::uint64_t count) {
  if (Time::now() >= next_) draw(std::string(what) + ": " + std::to_string(count));
}

void Progress::draw(const std::string& text) {
  const auto now = Time::now();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - began_).count();
  const std::string line = text + ", " + std::to_string(seconds) + " s";
  std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", line.c_str());
  std::fflush(stderr);
  drawn_ = terminal_;
  next_ = now + (terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10000));
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace logarithm::cli
