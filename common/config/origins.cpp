#include "common/config/origins.h"

#include <utility>

namespace logarithm::config {

void Origins::read(std::string file, std::map<std::string, std::size_t> lines) {
  file_ = std::move(file);
  lines_ = std::move(lines);
}

void Origins::state(const std::string& key, std::string option) {
  options_[key] = std::move(option);
}

void Origins::take(const std::string& key, const char* option, const std::string& stated,
                   std::string& value) {
  if (stated.empty()) return;
  value = stated;
  state(key, option);
}

bool Origins::has(const std::string& key) const {
  return options_.contains(key) || lines_.contains(key);
}

Problem Origins::problem(const std::string& key, std::string what) const {
  if (const auto option = options_.find(key); option != options_.end()) {
    return {"command line", 0, option->second, std::move(what)};
  }
  if (file_.empty()) return {"defaults", 0, key, std::move(what)};
  // "files[2].glob", "files[2]", "files".
  for (std::string above = key; !above.empty();) {
    const auto line = lines_.find(above);
    if (line != lines_.end()) return {file_, line->second, key, std::move(what)};
    const std::size_t cut = above.find_last_of(".[");
    above.resize(cut == std::string::npos ? 0 : cut);
  }
  return {file_, 1, key, std::move(what)};
}

Error Origins::error(const std::string& key, const Error& error) const {
  return Error(error.code(), problem(key, error.message()).to_string());
}

}  // namespace logarithm::config
