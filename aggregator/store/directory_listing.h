#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace logarithm::aggregator {

// What lies in a directory (`deep`: and below), in no order. Never throws, as a loop over the
// standard iterator does when an entry vanishes or descriptors run out. A list that broke off is an
// error: half of a job's parts must not pass for all.
inline Result<std::vector<std::filesystem::directory_entry>> list_directory(
    const std::string& directory, bool deep = false) {
  namespace fs = std::filesystem;
  std::vector<fs::directory_entry> entries;
  std::error_code problem;
  fs::recursive_directory_iterator at(directory, problem);
  while (!problem && at != fs::recursive_directory_iterator()) {
    entries.push_back(*at);
    if (!deep) at.disable_recursion_pending();
    at.increment(problem);
  }
  if (problem) return errno_error(problem.value(), "list " + directory);
  return entries;
}

}  // namespace logarithm::aggregator
