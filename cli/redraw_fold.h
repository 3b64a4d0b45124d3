#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace logarithm::cli {

// Of each run of redraws of a progress bar, per stream, its last: what a person saw, or would have
// seen. For lines that are shown; data keeps all of them.
class RedrawFold {
 public:
  // Lines in order of time: gives `text` of `line` and those before it that are to be shown now.
  std::vector<std::string> next(const nlohmann::json& line, std::string text);
  // After the last line: the bars that were still under way.
  std::vector<std::string> rest();

  // Lines that come newest first: whether this one is to be shown.
  bool keeps(const nlohmann::json& line);

 private:
  std::vector<std::pair<std::string, std::string>> held_;  // stream, the text of its last redraw
  std::set<std::string> redrawn_;                          // streams whose newer line is a redraw
};

}  // namespace logarithm::cli
