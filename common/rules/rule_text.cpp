#include "common/rules/rule_text.h"

#include <algorithm>

#include "common/rules/rule_set.h"

namespace logarithm {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t swap = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, swap});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  word = word.substr(0, 64);
  std::string best;
  std::size_t least = std::max<std::size_t>(word.size() < 3 ? 1 : 2, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string name_hint(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest_name(word, candidates);
  if (!near.empty()) return "; did you mean '" + near + "'?";
  if (candidates.empty()) return "";
  std::string out = "; known: ";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i > 0) out += ", ";
    out += candidates[i];
  }
  return out;
}

std::string shortened(const std::string& text) {
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

std::string RuleProblem::to_string() const {
  return file + ":" + std::to_string(line) + ": " + path + ": " + message;
}

}  // namespace logarithm
