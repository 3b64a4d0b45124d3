#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/line/line.h"

namespace logarithm {

// A rule that was refused: it is disabled, the others run.
struct RuleProblem {
  std::string file;
  int line = 0;
  std::string path;               // "rules[3].match"
  std::string message;            // with a hint what to do
  std::string to_string() const;  // "file:line: path: message"
};

// What rules found on one line.
struct Extraction {
  std::vector<MetaPair> meta;
  std::vector<EventMark> events;
  std::optional<Severity> severity;
  std::optional<std::int64_t> iteration;  // field `iteration` of a match
  bool carry_iteration = false;           // later lines inherit it
  std::optional<UnixNanos> time;
  bool empty() const { return meta.empty() && events.empty() && !severity && !iteration && !time; }
};

// A compiled, immutable set of extract rules; thread-safe. RE2 in Latin-1 mode over bytes, input
// cut at 16 KiB.
class RuleSet {
 public:
  static constexpr std::size_t kInputCap = 16u << 10;

  struct Source {
    std::string file;  // for messages
    std::string yaml;
  };
  // Later sources override earlier rules by name. Bad rules are left out and reported.
  static std::shared_ptr<const RuleSet> build(const std::vector<Source>& sources,
                                              std::vector<RuleProblem>& problems);
  // The packs embedded in the program (config/rules/*.yaml).
  static std::vector<Source> shipped();

  virtual ~RuleSet() = default;
  // Applies all rules to one body. `stream` is the stream's name ("stdout", "kernel").
  virtual void apply(std::string_view body, std::string_view stream, Extraction& out) const = 0;
  // Applies the rules `over: record` to a joined record (lines separated by "\n") when it closes.
  virtual void apply_record(std::string_view record, std::string_view stream,
                            Extraction& out) const;
  virtual std::size_t size() const = 0;
};

inline void RuleSet::apply_record(std::string_view, std::string_view, Extraction&) const {}

}  // namespace logarithm
