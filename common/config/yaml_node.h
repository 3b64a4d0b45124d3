#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/config/problems.h"

// Strict reading of YAML configuration:
//
//   auto document = YamlDocument::load_file("agent.yaml");        // Error: unreadable, not YAML
//   YamlNode root = document->root();
//   config.state_dir = root.string("state_dir", config.state_dir);
//   config.spool.max_bytes = root.child("spool").size("max_bytes", config.spool.max_bytes, 1 <<
//   20); for (YamlNode file : root.list("files")) config.files.push_back({file.required("glob"),
//   ...}); root.finish();                                                 // unknown keys if
//   (!document->problems().empty()) ...                         // exit 78
//
// A getter never fails: it notes the problem with file, line and path and returns the default, so
// that one pass finds everything. Not thread-safe.
namespace logarithm::config {

struct YamlItem;
struct YamlState;

// A place in the document that may not exist (then every getter returns its default). Cheap to
// copy; keeps the document alive.
class YamlNode {
 public:
  bool exists() const;  // present and not null
  bool is_map() const;
  bool is_list() const;
  bool is_scalar() const;
  std::size_t line() const;         // from 1; the parent's line when the node does not exist
  const std::string& path() const;  // "spool.max_bytes"; empty for the root

  // --- keys of a map (a node that is something else is a problem, noted once)
  bool has(std::string_view key) const;        // does not mark the key as known
  YamlNode child(std::string_view key) const;  // a map below
  YamlNode any(std::string_view key) const;    // whatever is below; the caller looks at its kind
  std::vector<std::string> keys() const;       // in the order of the file; marks none as known

  std::string string(std::string_view key, std::string fallback) const;
  std::string required(std::string_view key) const;  // a string that must be there, not empty
  std::int64_t integer(std::string_view key, std::int64_t fallback,
                       std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
  double number(std::string_view key, double fallback) const;
  bool boolean(std::string_view key, bool fallback) const;  // true or false, nothing else
  std::chrono::nanoseconds duration(
      std::string_view key, std::chrono::nanoseconds fallback,
      std::chrono::nanoseconds min = std::chrono::nanoseconds(0),
      std::chrono::nanoseconds max = std::chrono::nanoseconds::max()) const;
  std::uint64_t size(std::string_view key, std::uint64_t fallback, std::uint64_t min = 0,
                     std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) const;
  // One of `choices`.
  std::string choice(std::string_view key, std::string fallback,
                     const std::vector<std::string>& choices) const;
  std::vector<YamlNode> list(std::string_view key) const;  // items of any kind
  // A list of strings; a single string is a list of one.
  std::vector<std::string> strings(std::string_view key,
                                   std::vector<std::string> fallback = {}) const;
  // A map of strings to strings, in the order of the file.
  std::vector<std::pair<std::string, std::string>> string_map(std::string_view key) const;

  // --- the node itself
  std::optional<std::string> as_string() const;  // a problem unless it is a scalar
  std::vector<YamlNode> items() const;           // of a list; none otherwise

  // Notes a problem of the caller's (a value that fails its own checks), at this node.
  void problem(std::string what) const;
  // The same at a key of this node.
  void problem_at(std::string_view key, std::string what) const;
  // Notes the keys that nobody asked for, here and in what was reached from here, with the nearest
  // known name as a hint. Each once, however often it is called.
  void finish() const;

 private:
  friend class YamlDocument;
  YamlNode(std::shared_ptr<YamlState> state, YamlItem* item)
      : state_(std::move(state)), item_(item) {}

  YamlItem* below(std::string_view key) const;
  void finish_reached() const;
  std::optional<std::string> scalar_at(std::string_view key) const;

  std::shared_ptr<YamlState> state_;
  YamlItem* item_;
};

// One configuration file.
class YamlDocument {
 public:
  // Blocks (reads the file): for main() and workers. Error{not_found, io, too_large}, or
  // Error{invalid} "file:line: what" when it is not YAML.
  static Result<YamlDocument> load_file(const std::string& file);
  // The same for `text`; `name` stands for the file in messages.
  static Result<YamlDocument> parse(std::string name, const std::string& text);

  YamlNode root() const;
  const Problems& problems() const;
  // The lines of all places that were asked for and are there, by their paths: see Origins.
  std::map<std::string, std::size_t> lines() const;

 private:
  explicit YamlDocument(std::shared_ptr<YamlState> state) : state_(std::move(state)) {}
  std::shared_ptr<YamlState> state_;
};

}  // namespace logarithm::config
