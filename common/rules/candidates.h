#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/line/template.h"
#include "common/rules/literal_scanner.h"
#include "common/rules/rule.h"

namespace logarithm {

// Which rules can hit a text: those of whose literals one occurs in it, and those of which no
// literal is known. Immutable after build(); thread-safe.
class Candidates {
 public:
  // Rules are named by their place in `rules`; `wanted` picks those that are looked for.
  void build(const std::vector<Rule>& rules, const std::vector<bool>& wanted);

  // Ascending; a view that is valid until the next call of this thread.
  const std::vector<std::uint16_t>& find(std::string_view text) const;

  // Those that could hit `text` or any text that differs from it in the values of digits only.
  const std::vector<std::uint16_t>& find_shape(std::string_view text) const;

  // The same for a body whose mask is known. A template decides once for all its lines: from its
  // constant text, and when it comes again from what patterns could match at all. Where a line has
  // paths or quoted strings (in which any literal may lie) the body is looked at, for the rules
  // that are left.
  const std::vector<std::uint16_t>& find(std::string_view body, const MaskedBody& masked,
                                         TemplateId id) const;

 private:
  struct Memory;

  bool could_match(Memory& memory, std::uint16_t rule, const MaskedBody& masked) const;

  std::uint64_t number_ = 0;  // which set: templates are remembered per thread, for all sets
  std::size_t rules_ = 0;
  std::vector<std::uint16_t> always_;         // without a literal
  std::vector<std::uint16_t> masked_always_;  // without one that the mask leaves alone
  LiteralScanner in_body_, in_masked_;
  std::vector<std::optional<Regex>> patterns_;  // of the rules looked for
};

// The longest part of a literal that the mask never touches, whatever stands around it in a body,
// unless it lies in a path or a quoted string. May be empty.
std::string unmasked_part(std::string_view literal);

}  // namespace logarithm
