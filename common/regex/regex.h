#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/regex/digit_watch.h"

namespace logarithm {

enum class RegexMode {
  latin1,  // rules: every byte is a character; non-ASCII patterns are refused
  utf8,    // user queries: over text that sanitize_utf8() made
};

// A compiled regular expression (RE2: linear time, bounded memory). Immutable, cheap to copy,
// thread-safe.
class Regex {
 public:
  using Groups = std::vector<std::optional<std::string_view>>;

  static constexpr std::size_t kMaxPattern = 16u << 10;

  // Error{invalid} carries RE2's own words and the position in the pattern. Also refused: one group
  // name used twice (RE2 lets `(?P<x>a)|(?P<x>b)` pass and then loses one of them), patterns over
  // kMaxPattern, and in latin1 mode any non-ASCII character (it would match bytes, not letters).
  // `position`, where given, gets the byte where it went wrong, when that is known.
  static Result<Regex> compile(std::string_view pattern, RegexMode mode, bool fold_case = false,
                               std::optional<std::size_t>* position = nullptr);

  // True when a match lies anywhere in `text`.
  bool search(std::string_view text) const;
  // As above; groups[0] is the match, groups[i] capturing group i. A group that did not take part
  // is nullopt, an empty one is "". Views into `text`. `groups` is untouched without a match.
  bool search(std::string_view text, Groups& groups) const;
  // The same from position `from` on; `^` and `\b` still see what is before it.
  bool search_from(std::string_view text, std::size_t from, Groups& groups) const;
  // The same, and notes where the value of a digit was looked at: what differs from `text` in other
  // digits only has the same result, at the same places. Slower.
  bool search_from(std::string_view text, std::size_t from, Groups& groups,
                   DigitWatch& watch) const;
  // True when all of `text` matches.
  bool full_match(std::string_view text) const;

  // Indexed as `groups` above; "" where a group has no name (and for 0).
  const std::vector<std::string>& group_names() const;
  const std::string& pattern() const;

  // Byte strings that every matching text contains, all of them, as they are (case matters). Never
  // wrong, often incomplete: empty when nothing is known. Longest first.
  std::vector<std::string> required_literals() const;
  // Strings of which every matching text contains at least one, in some case of its ASCII letters;
  // they are lower case. Empty when nothing is known.
  const std::vector<std::string>& required_any() const;
  // What a hole in a shape can hold.
  enum class Fill { numbers, anything };
  // False only when no text of this shape matches: `hole` stands for numbers, hex, nan and the like
  // (see common/line/template.h), or for anything. Rules only; dear: for answers that are kept.
  bool may_match_shape(std::string_view shape, char hole, Fill fill) const;
  // True when searches are run by the Backtracker, and RE2 only answers where it gives up.
  bool is_fast() const;

 private:
  struct Impl;
  bool search_from(std::string_view text, std::size_t from, Groups& groups,
                   DigitWatch* watch) const;
  explicit Regex(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace logarithm
