#include "aggregator/query/candidate_rows.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "aggregator/query/judge.h"
#include "aggregator/query/match.h"

namespace logarithm::aggregator {
namespace {

using Kind = Predicate::Kind;
using Rows = std::optional<CandidateRows>;  // nullopt: any row may fulfil it

RowSet both(const RowSet& a, const RowSet& b) {
  RowSet out;
  auto left = a.ranges().begin(), right = b.ranges().begin();
  while (left != a.ranges().end() && right != b.ranges().end()) {
    out.add(std::max(left->first, right->first), std::min(left->end, right->end));
    left->end < right->end ? ++left : ++right;
  }
  return out;
}

RowSet either(const RowSet& a, const RowSet& b) {
  std::vector<RowRange> all = a.ranges();
  all.insert(all.end(), b.ranges().begin(), b.ranges().end());
  std::sort(all.begin(), all.end(),
            [](const RowRange& x, const RowRange& y) { return x.first < y.first; });
  RowSet out;
  for (const RowRange& range : all) out.add(range.first, range.end);
  return out;
}

RowSet all_but(const RowSet& rows, std::uint32_t lines) {
  RowSet out;
  std::uint32_t from = 0;
  for (const RowRange& range : rows.ranges()) {
    out.add(from, range.first);
    from = range.end;
  }
  out.add(from, lines);
  return out;
}

class Asking {
 public:
  Asking(const BlockReader& reader, const StreamJoin& join, const TemplateLookup& lookup)
      : reader_(reader), join_(join), lookup_(lookup) {}

  Result<Rows> of(const Predicate& predicate) const {
    switch (judge(predicate, join_, &reader_.header(), nullptr)) {
      case Verdict::always: return Rows({RowSet::all(reader_.header().lines), true});
      case Verdict::never: return Rows({RowSet(), true});
      case Verdict::maybe: break;
    }
    switch (predicate.kind) {
      case Kind::all_of: return all_of(predicate);
      case Kind::any_of: return any_of(predicate);
      case Kind::negation: return negation(predicate.children.front());
      default: break;
    }
    if (predicate.field.field == Field::text) return text(predicate);
    if (predicate.field.field == Field::meta) return value(predicate);
    return Rows();
  }

 private:
  Result<Rows> all_of(const Predicate& predicate) const {
    Rows out;
    bool exact = true;
    for (const Predicate& child : predicate.children) {
      LGR_TRY(Rows rows, of(child));
      exact = exact && rows && rows->exact;
      if (!rows) continue;
      out = Rows({out ? both(out->rows, rows->rows) : std::move(rows->rows), false});
      if (out->rows.count() == 0) break;
    }
    if (out) out->exact = exact || out->rows.count() == 0;
    return out;
  }

  Result<Rows> any_of(const Predicate& predicate) const {
    CandidateRows out;
    out.exact = true;
    for (const Predicate& child : predicate.children) {
      LGR_TRY(const Rows rows, of(child));
      if (!rows) return Rows();
      out.rows = either(out.rows, rows->rows);
      out.exact = out.exact && rows->exact;
    }
    return Rows(std::move(out));
  }

  Result<Rows> negation(const Predicate& child) const {
    LGR_TRY(const Rows rows, of(child));
    if (!rows || !rows->exact) return Rows();
    return Rows({all_but(rows->rows, reader_.header().lines), true});
  }

  Result<Rows> text(const Predicate& predicate) const {
    switch (predicate.kind) {
      case Kind::contains:
      case Kind::string_equal: return with_literal(predicate.text, predicate.kind);
      case Kind::regex_full:
      case Kind::regex_search: break;
      default: return Rows();
    }
    // The longest: it tells most.
    std::string longest;
    for (const std::string& literal : predicate.regex->required_literals()) {
      if (literal.size() > longest.size()) longest = literal;
    }
    return with_literal(longest, predicate.kind);
  }

  Result<Rows> with_literal(std::string_view literal, Kind kind) const {
    LGR_TRY(std::optional<TextRows> found, reader_.rows_with_text(literal, lookup_));
    if (!found) return Rows();
    const bool exact = found->rows.count() == 0 || (found->exact && kind == Kind::contains);
    return Rows({std::move(found->rows), exact});
  }

  Result<Rows> value(const Predicate& predicate) const {
    if (absent_matches(predicate)) return Rows();
    LGR_TRY(RowSet rows, reader_.rows_with_value(predicate.field.key, [&](const MetaValue& value) {
      return meta_value_matches(predicate, value);
    }));
    return Rows({std::move(rows), true});
  }

  const BlockReader& reader_;
  const StreamJoin& join_;
  const TemplateLookup& lookup_;
};

}  // namespace

Result<CandidateRows> candidate_rows(const BlockReader& reader, const Predicate& predicate,
                                     const StreamJoin& join, const TemplateLookup& lookup) {
  LGR_TRY(Rows rows, Asking(reader, join, lookup).of(predicate));
  if (rows) return std::move(*rows);
  return CandidateRows{RowSet::all(reader.header().lines), false};
}

}  // namespace logarithm::aggregator
