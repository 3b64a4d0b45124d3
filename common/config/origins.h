#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "common/base/error.h"
#include "common/config/problems.h"

namespace logarithm::config {

// Where the keys of a configuration were given: the lines of a file, and the options of the command
// line that went over it. With it a check of the whole, made when both are read, and a part that
// fails on a value later (the port is taken) say where to put it right. A plain value; any thread.
class Origins {
 public:
  // The keys of `file` and their lines; see YamlDocument::lines().
  void read(std::string file, std::map<std::string, std::size_t> lines);
  // The command line gave `key` as `option`: "listen", "--listen".
  void state(const std::string& key, std::string option);

  // The same for an option that was given if it is not empty: then it is the key's value.
  void take(const std::string& key, const char* option, const std::string& stated,
            std::string& value);

  bool has(const std::string& key) const;  // stated, or in the file

  // "agent.yaml:7: metrics: what", "command line: --metrics: what", or, for what nobody gave,
  // "defaults: metrics: what" (with a file: at what is above the key in it, at least line 1).
  Problem problem(const std::string& key, std::string what) const;
  // The same in front of an error, whose code stays.
  Error error(const std::string& key, const Error& error) const;

 private:
  std::string file_;
  std::map<std::string, std::size_t> lines_;
  std::map<std::string, std::string> options_;
};

}  // namespace logarithm::config
