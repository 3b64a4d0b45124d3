#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/line/event_marks.h"
#include "common/rules/dict_reader.h"
#include "common/rules/line_recipe.h"
#include "common/rules/rule.h"
#include "common/rules/rule_set.h"

namespace logarithm {

// One body and what rules find on it, rule by rule. Reused from line to line, so that nothing is
// allocated for what finds nothing.
class RuleRun {
 public:
  // `body` and `out` outlive the run, which ends with finish(); so does `writer`, which, if given,
  // notes what the rules do.
  void begin(std::string_view body, std::string_view stream, Extraction& out,
             RecipeWriter* writer = nullptr);
  // True when the rule hits.
  bool apply(const Rule& rule);
  void finish();

 private:
  using Text = std::optional<std::string_view>;

  static bool has_digit(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  }
  std::size_t end_of(std::string_view part) const {
    return static_cast<std::size_t>(part.data() - body_.data()) + part.size();
  }
  bool search(const Regex& pattern, std::size_t from, Regex::Groups& groups) {
    return writer_ == nullptr ? pattern.search_from(body_, from, groups)
                              : pattern.search_from(body_, from, groups, writer_->watch());
  }

  Text text_of(std::size_t group) const;
  Text number_of(const Rule& rule, std::size_t group, bool& thousands);
  void take_iteration(const Rule& rule);
  void take_fields(const Rule& rule);
  void take_mapping(const Rule& rule);

  // metric_pairs.cpp: what `each` finds again and again.
  bool take_pairs(const Rule& rule);
  std::string_view key_of_pair(std::string_view key) const;
  // Notes what came of a pair.
  void give_pair(std::string_view text, std::string_view name, bool step, const Duration& duration,
                 double scale);

  // parsed_body.cpp: bodies that are dictionaries.
  bool read_body(const Rule& rule);
  void take_entry_time();
  bool take_entries(const Rule& rule);
  void take_entry(const DictEntry& entry, const std::string& name, bool point);

  bool is_point(const Rule& rule, std::string_view name) const;
  bool add_meta(std::string_view key, MetaValue value, bool point);
  void raise_severity(std::optional<Severity> severity);
  bool taken(std::string_view text) const;

  std::string_view body_, stream_;
  Extraction* out_ = nullptr;
  RecipeWriter* writer_ = nullptr;
  Regex::Groups groups_, pair_;
  std::vector<DictEntry> entries_;
  std::vector<const DictEntry*> keys_;  // of Rule::keys, null where the body has none
  bool pairs_taken_ = false;
  std::vector<std::string_view> taken_;  // numbers that already are a field
};

}  // namespace logarithm
