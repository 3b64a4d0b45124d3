#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "aggregator/query/job_view.h"
#include "aggregator/query/predicate.h"

namespace logarithm::aggregator {

// One line while predicates look at it; the text is made once, when first asked for.
class Row {
 public:
  Row(const Line& line, const StreamJoin& join) : line_(line), join_(join) {}

  const Line& line() const { return line_; }
  const StreamJoin& join() const { return join_; }
  // What people see: wrappers and ANSI gone, invalid UTF-8 as U+FFFD.
  std::string_view text();

 private:
  const Line& line_;
  const StreamJoin& join_;
  std::optional<std::string> made_;
  std::optional<std::string_view> text_;
};

// True when the line fulfils the predicate. The parts of the line that the predicate needs (see
// needs_text(), needs_meta()) must have been decoded.
bool matches(const Predicate& predicate, Row& row);

// A number or text as it is compared with quoted values: shortest form that reads back.
std::string print_number(double value);

// The same decisions for a value that stands for a whole block's lines (see judge.h).
bool value_matches(const Predicate& predicate, std::string_view value);
bool value_matches(const Predicate& predicate, std::int64_t value);
bool absent_matches(const Predicate& predicate);
// Of one value of a line's metadata.
bool meta_value_matches(const Predicate& predicate, const MetaValue& value);

}  // namespace logarithm::aggregator
