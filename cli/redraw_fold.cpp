#include "cli/redraw_fold.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace logarithm::cli {
namespace {

bool is_redraw(const nlohmann::json& line) {
  const auto flags = line.find("flags");
  return flags != line.end() && flags->is_array() &&
         std::find(flags->begin(), flags->end(), "progress") != flags->end();
}

std::string stream_of(const nlohmann::json& line) {
  const std::string id = line.value("id", "");
  return id.substr(0, id.rfind(':'));
}

// A bar clears its line with an empty one.
bool is_empty(const nlohmann::json& line) { return line.value("text", "").empty(); }

}  // namespace

std::vector<std::string> RedrawFold::next(const nlohmann::json& line, std::string text) {
  const std::string stream = stream_of(line);
  const auto held = std::find_if(held_.begin(), held_.end(),
                                 [&](const auto& entry) { return entry.first == stream; });
  if (is_redraw(line)) {
    if (is_empty(line)) return {};
    if (held != held_.end()) held_.erase(held);
    held_.emplace_back(stream, std::move(text));
    return {};
  }
  std::vector<std::string> out;
  if (held != held_.end()) {
    out.push_back(std::move(held->second));
    held_.erase(held);
  }
  out.push_back(std::move(text));
  return out;
}

std::vector<std::string> RedrawFold::rest() {
  std::vector<std::string> out;
  for (auto& [stream, text] : held_) out.push_back(std::move(text));
  held_.clear();
  return out;
}

bool RedrawFold::keeps(const nlohmann::json& line) {
  const std::string stream = stream_of(line);
  if (!is_redraw(line)) {
    redrawn_.erase(stream);
    return true;
  }
  return !is_empty(line) && redrawn_.insert(stream).second;
}

}  // namespace logarithm::cli
