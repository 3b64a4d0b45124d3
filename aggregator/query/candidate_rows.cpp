#include "aggregator/query/candidate_rows.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "aggregator/query/match.h"

namespace logarithm::aggregator {
namespace {

using Kind = Predicate::Kind;
using Rows = std::optional<RowSet>;

class Asking {
 public:
  Asking(const BlockReader& reader, const TemplateLookup& lookup)
      : reader_(reader), lookup_(lookup) {}

  Result<Rows> of(const Predicate& predicate) const {
    switch (predicate.kind) {
      case Kind::all_of: return all_of(predicate);
      case Kind::any_of: return any_of(predicate);
      case Kind::negation: return Rows();
      default: break;
    }
    if (predicate.field.field == Field::text) return text(predicate);
    if (predicate.field.field == Field::meta) return value(predicate);
    return Rows();
  }

 private:
  Result<Rows> all_of(const Predicate& predicate) const {
    Rows out;
    for (const Predicate& child : predicate.children) {
      LGR_TRY(Rows rows, of(child));
      if (!rows) continue;
      out = out ? both(*out, *rows) : std::move(*rows);
      if (out->count() == 0) break;
    }
    return out;
  }

  Result<Rows> any_of(const Predicate& predicate) const {
    RowSet out;
    for (const Predicate& child : predicate.children) {
      LGR_TRY(const Rows rows, of(child));
      if (!rows) return Rows();
      out = either(out, *rows);
    }
    return Rows(std::move(out));
  }

  Result<Rows> text(const Predicate& predicate) const {
    switch (predicate.kind) {
      case Kind::contains:
      case Kind::string_equal: return reader_.rows_with_text(predicate.text, lookup_);
      case Kind::regex_full:
      case Kind::regex_search: break;
      default: return Rows();
    }
    // The longest: it tells most.
    std::string longest;
    for (const std::string& literal : predicate.regex->required_literals()) {
      if (literal.size() > longest.size()) longest = literal;
    }
    return reader_.rows_with_text(longest, lookup_);
  }

  Result<Rows> value(const Predicate& predicate) const {
    if (absent_matches(predicate)) return Rows();
    LGR_TRY(RowSet rows, reader_.rows_with_value(predicate.field.key, [&](const MetaValue& value) {
      return meta_value_matches(predicate, value);
    }));
    return Rows(std::move(rows));
  }

  static RowSet both(const RowSet& a, const RowSet& b) {
    RowSet out;
    auto left = a.ranges().begin(), right = b.ranges().begin();
    while (left != a.ranges().end() && right != b.ranges().end()) {
      out.add(std::max(left->first, right->first), std::min(left->end, right->end));
      left->end < right->end ? ++left : ++right;
    }
    return out;
  }

  static RowSet either(const RowSet& a, const RowSet& b) {
    std::vector<RowRange> all = a.ranges();
    all.insert(all.end(), b.ranges().begin(), b.ranges().end());
    std::sort(all.begin(), all.end(),
              [](const RowRange& x, const RowRange& y) { return x.first < y.first; });
    RowSet out;
    for (const RowRange& range : all) out.add(range.first, range.end);
    return out;
  }

  const BlockReader& reader_;
  const TemplateLookup& lookup_;
};

}  // namespace

Result<std::optional<RowSet>> candidate_rows(const BlockReader& reader, const Predicate& predicate,
                                             const TemplateLookup& lookup) {
  return Asking(reader, lookup).of(predicate);
}

}  // namespace logarithm::aggregator
