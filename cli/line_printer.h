#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/line_text.h"
#include "cli/options.h"
#include "cli/redraw_fold.h"

namespace logarithm::cli {

// Writes to stdout and remembers whether it still can be written (a pager may have gone).
class StdoutWriter {
 public:
  bool write(std::string_view bytes) {
    good_ = good_ && std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
    return good_;
  }
  bool finish() {
    good_ = std::fflush(stdout) == 0 && good_;
    return good_;
  }

 private:
  bool good_ = true;
};

// Takes a page of lines as NDJSON, piece by piece, and gives each as it is to be printed.
class LinePrinter {
 public:
  // `print` gets one or more whole output lines; false stops.
  LinePrinter(Output output, LineStyle style, std::function<bool(std::string_view)> print)
      : output_(output), style_(std::move(style)), print_(std::move(print)) {}

  // The last come first: what is printed is kept back and turned round at the end.
  void turn_round() { turned_ = true; }

  // For people: redraws of progress bars are folded. `newest_first`: as the lines come.
  void fold(bool newest_first) { folded_ = newest_first ? Fold::backward : Fold::forward; }

  bool feed(std::string_view piece);
  // After the last piece. Error when the stream carried an error record or had no end record.
  Status finish();

  std::uint64_t lines() const { return lines_; }
  const std::string& next() const { return next_; }  // the cursor of the next page, or empty
  bool complete() const { return complete_; }
  const std::vector<std::string>& reasons() const { return reasons_; }

 private:
  enum class Fold { none, forward, backward };
  bool take(std::string_view record);
  bool emit(std::string text);

  Output output_;
  LineStyle style_;
  std::function<bool(std::string_view)> print_;
  std::string torn_;  // the start of a record whose end has not come
  std::vector<std::string> kept_;
  std::optional<Error> failure_;
  std::string next_;
  std::vector<std::string> reasons_;
  std::uint64_t lines_ = 0;
  Fold folded_ = Fold::none;
  RedrawFold redraws_;
  bool turned_ = false, ended_ = false, stopped_ = false, complete_ = false;
};

// Says on stderr that an answer is not complete, and why.
void warn_incomplete(const LinePrinter& page);
void warn_incomplete(bool complete, const std::vector<std::string>& reasons);

}  // namespace logarithm::cli
