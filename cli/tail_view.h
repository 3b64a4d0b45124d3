#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/line_text.h"
#include "cli/options.h"

namespace logarithm::cli {

struct ScreenSize {
  std::size_t rows = 24, columns = 80;
};

// Shows lines as they come. As text, the redraws of a progress bar are folded: a run of them, per
// stream, becomes its last. On a terminal the bars that are under way stand below the lines, and
// are redrawn in place. As ndjson, every line is given as it is.
class TailView {
 public:
  // `size` is asked before each drawing; empty: not a terminal.
  TailView(Output output, LineStyle style, std::function<ScreenSize()> size)
      : output_(output), style_(std::move(style)), size_(std::move(size)) {}

  // A JSON object of a line.
  void add(std::string_view line);
  // A line of ours between those of the job.
  void note(std::string_view text) { ready_.append(text).push_back('\n'); }
  // What is to be written since the last call.
  std::string draw();
  // The end: bars that are still under way are left as lines.
  std::string finish();

 private:
  // The line that a stream has begun.
  struct Bar {
    std::string stream;
    std::string body;        // what it is so far; empty: only known to be redrawn
    std::string text;        // the same as a whole line
    std::string short_text;  // for the bottom of a screen
    bool redrawn = false;    // it has ended in a carriage return before
  };
  using Bars = std::vector<Bar>;

  Bars::iterator find(const std::string& stream);
  void settle(Bars::iterator bar);
  void hold(Bar bar);

  static constexpr std::size_t kMostBars = 1000;

  Output output_;
  LineStyle style_;
  std::function<ScreenSize()> size_;
  std::string ready_;
  Bars bars_;              // the one that changed last is last
  std::size_t drawn_ = 0;  // lines at the bottom of the screen
};

// `text` cut to so many columns of a terminal; UTF-8 is kept whole, wide characters count twice.
std::string fit_columns(std::string_view text, std::size_t columns);

}  // namespace logarithm::cli
