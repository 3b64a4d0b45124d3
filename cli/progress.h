#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace logarithm::cli {

// A line on stderr about what takes over a second: redrawn on a terminal, else a new line every ten
// seconds.
class Progress {
 public:
  explicit Progress(bool terminal);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // "reading files, 12 s"; with a count "lines received: 120000, 12 s". Cheap to call often.
  void tick(const char* what);
  void tick(const char* what, std::uint64_t count);
  // Removes the line from a terminal, before anything else is written there.
  void clear();

 private:
  void draw(const std::string& text);

  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point began_, next_;
};

}  // namespace logarithm::cli
