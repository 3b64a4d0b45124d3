#include "aggregator/query/judge.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "aggregator/query/match.h"

namespace logarithm::aggregator {
namespace {

using Kind = Predicate::Kind;

Verdict negate(Verdict verdict) {
  if (verdict == Verdict::maybe) return verdict;
  return verdict == Verdict::never ? Verdict::always : Verdict::never;
}

// Folds the answers for every value that a field can have in the block.
class Candidates {
 public:
  explicit Candidates(const Predicate& predicate) : predicate_(predicate) {}

  void value(std::string_view text) { add(value_matches(predicate_, text)); }
  void value(std::int64_t number) { add(value_matches(predicate_, number)); }
  void absent() { add(absent_matches(predicate_)); }
  void text_or_absent(std::string_view text) { text.empty() ? absent() : value(text); }
  Verdict verdict() const {
    if (any_ && all_) return Verdict::always;
    return any_ ? Verdict::maybe : Verdict::never;
  }

 private:
  void add(bool matched) {
    any_ = any_ || matched;
    all_ = all_ && matched;
  }
  const Predicate& predicate_;
  bool any_ = false, all_ = true;
};

// Can an integer of [min, max] fulfil a number or intervals predicate?
bool integers_may_match(const Predicate& predicate, std::int64_t min, std::int64_t max) {
  if (predicate.kind == Kind::intervals) {
    return std::any_of(predicate.intervals.begin(), predicate.intervals.end(),
                       [&](const Interval& in) { return in.min <= max && min <= in.max; });
  }
  if (predicate.kind != Kind::number) return true;
  const Number low = min, high = max;
  switch (predicate.compare) {
    case Compare::eq:
      return compare_numbers(low, Compare::le, predicate.number) &&
             compare_numbers(high, Compare::ge, predicate.number);
    case Compare::ne: return min != max || compare_numbers(low, Compare::ne, predicate.number);
    case Compare::lt:
    case Compare::le: return compare_numbers(low, predicate.compare, predicate.number);
    case Compare::gt:
    case Compare::ge: return compare_numbers(high, predicate.compare, predicate.number);
  }
  return true;
}

bool doubles_may_match(const Predicate& predicate, const FieldStats& stats) {
  if (predicate.kind == Kind::intervals) return false;
  if (predicate.kind != Kind::number) return true;
  if (stats.has_nan && compare_numbers(std::numeric_limits<double>::quiet_NaN(), predicate.compare,
                                       predicate.number)) {
    return true;
  }
  const Number low = stats.doubles.min, high = stats.doubles.max;
  if (stats.doubles.min > stats.doubles.max) return false;  // only NaN
  switch (predicate.compare) {
    case Compare::eq:
      return compare_numbers(low, Compare::le, predicate.number) &&
             compare_numbers(high, Compare::ge, predicate.number);
    case Compare::ne: return true;
    case Compare::lt:
    case Compare::le: return compare_numbers(low, predicate.compare, predicate.number);
    case Compare::gt:
    case Compare::ge: return compare_numbers(high, predicate.compare, predicate.number);
  }
  return true;
}

class Judge {
 public:
  Judge(const StreamJoin& join, const BlockHeader* header, TextProbe* probe)
      : join_(join), header_(header), probe_(probe) {}

  Verdict of(const Predicate& predicate) {
    switch (predicate.kind) {
      case Kind::all_of: return all_of(predicate);
      case Kind::any_of: return any_of(predicate);
      case Kind::negation: return negate(of(predicate.children.front()));
      default: return leaf(predicate);
    }
  }

 private:
  Verdict all_of(const Predicate& predicate) {
    Verdict out = Verdict::always;
    for (const Predicate& child : predicate.children) {
      const Verdict verdict = of(child);
      if (verdict == Verdict::never) return verdict;
      if (verdict == Verdict::maybe) out = verdict;
    }
    return out;
  }

  Verdict any_of(const Predicate& predicate) {
    Verdict out = Verdict::never;
    for (const Predicate& child : predicate.children) {
      const Verdict verdict = of(child);
      if (verdict == Verdict::always) return verdict;
      if (verdict == Verdict::maybe) out = verdict;
    }
    return out;
  }

  Verdict leaf(const Predicate& predicate) {
    Candidates seen(predicate);
    switch (predicate.field.field) {
      case Field::job: seen.text_or_absent(*join_.job); return seen.verdict();
      case Field::host: seen.text_or_absent(join_.attributes->host); return seen.verdict();
      case Field::process: seen.text_or_absent(join_.attributes->process); return seen.verdict();
      case Field::stream_id: seen.value(join_.stream_text); return seen.verdict();
      case Field::attempt:
        join_.attempt ? seen.value(std::int64_t{*join_.attempt}) : seen.absent();
        return seen.verdict();
      case Field::rank: return rank(predicate);
      case Field::stream: return stream(predicate);
      case Field::id: return id(predicate);
      case Field::text: return text(predicate);
      default: break;
    }
    if (header_ == nullptr) return Verdict::maybe;
    switch (predicate.field.field) {
      case Field::severity: return severity(predicate);
      case Field::callsite: return callsite(predicate);
      case Field::template_id: return body_template(predicate);
      case Field::iteration: return iteration(predicate);
      case Field::flags: return flags(predicate);
      case Field::meta: return meta(predicate);
      default: return Verdict::maybe;
    }
  }

  Verdict rank(const Predicate& predicate) {
    Candidates seen(predicate);
    join_.rank ? seen.value(std::int64_t{*join_.rank}) : seen.absent();
    const bool no_other = join_.rank_is_fixed ||
                          (join_.facts != nullptr && join_.facts->lacks_wrapper_ranks) ||
                          (header_ != nullptr && !header_->wrapper_rank);
    if (no_other) {
      return seen.verdict();
    }
    if (header_ == nullptr || seen.verdict() != Verdict::never) return Verdict::maybe;
    return integers_may_match(predicate, header_->wrapper_rank->min, header_->wrapper_rank->max)
               ? Verdict::maybe
               : Verdict::never;
  }

  Verdict stream(const Predicate& predicate) {
    // Lines may say which output they are of; an older block does not tell whether they do.
    const bool none_says = header_ != nullptr && header_->no_output_said;
    const bool maybe = !none_says && (value_matches(predicate, std::string_view("stdout")) ||
                                      value_matches(predicate, std::string_view("stderr")));
    const auto by_name = [&](std::string_view name) {
      return (none_says || !is_output(name)) && value_matches(predicate, name);
    };
    if (by_name(join_.attributes->name)) return Verdict::always;
    for (const std::string& alias : join_.attributes->aliases) {
      if (by_name(alias)) return Verdict::always;
    }
    return maybe ? Verdict::maybe : Verdict::never;
  }

  Verdict id(const Predicate& predicate) {
    if (predicate.kind != Kind::string_equal) return Verdict::maybe;
    return predicate.text.starts_with(join_.stream_text + ":") ? Verdict::maybe : Verdict::never;
  }

  Verdict severity(const Predicate& predicate) {
    bool any = false, all = true;
    for (unsigned bit = 0; bit < 8; ++bit) {
      if ((header_->severities >> bit & 1u) == 0) continue;
      const auto value = static_cast<Severity>(bit);
      bool matched = false;
      if (predicate.kind == Kind::at_least) {
        matched = value >= predicate.severity;
      } else {
        const std::string_view word = to_string(value);
        matched = word.empty() ? absent_matches(predicate) : value_matches(predicate, word);
      }
      any = any || matched;
      all = all && matched;
    }
    if (any && all) return Verdict::always;
    return any ? Verdict::maybe : Verdict::never;
  }

  Verdict callsite(const Predicate& predicate) {
    if (header_->has_callsite && header_->callsites.empty()) return Verdict::maybe;
    Candidates seen(predicate);
    for (const std::string& callsite : header_->callsites) {
      seen.value(std::string_view(callsite));
    }
    seen.absent();
    return seen.verdict();
  }

  Verdict body_template(const Predicate& predicate) {
    if (header_->body_templates.empty()) return Verdict::maybe;
    Candidates seen(predicate);
    for (TemplateId id : header_->body_templates) {
      char text[17];
      std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(id));
      seen.value(std::string_view(text));
    }
    return seen.verdict();
  }

  // What the lines lack they may get from their process, and nobody can tell which.
  bool may_be_derived() const {
    return join_.may_derive_iteration() && !header_->all_have_iteration;
  }

  Verdict iteration(const Predicate& predicate) {
    if (may_be_derived()) return Verdict::maybe;
    if (!header_->iteration) {
      Candidates seen(predicate);
      seen.absent();
      return seen.verdict();
    }
    if (integers_may_match(predicate, header_->iteration->min, header_->iteration->max)) {
      return Verdict::maybe;
    }
    return header_->all_have_iteration || !absent_matches(predicate) ? Verdict::never
                                                                     : Verdict::maybe;
  }

  Verdict flags(const Predicate& predicate) {
    if (may_be_derived()) return Verdict::maybe;
    Candidates seen(predicate);
    bool known = true;
    std::uint32_t left = header_->flags_any;
    for (const FlagName& flag : kFlagNames) {
      if ((header_->flags_any & flag.bit) == 0) continue;
      seen.value(flag.name);
      left &= ~flag.bit;
    }
    known = left == 0;
    seen.absent();
    return known ? seen.verdict() : Verdict::maybe;
  }

  Verdict meta(const Predicate& predicate) {
    bool any_column = false;
    for (const FieldStats& stats : header_->fields) {
      if (stats.key != predicate.field.key) continue;
      any_column = true;
      if (stats.type == MetaType::string) return Verdict::maybe;
      const bool possible = stats.type == MetaType::int64
                                ? integers_may_match(predicate, stats.ints.min, stats.ints.max)
                                : doubles_may_match(predicate, stats);
      if (possible) return Verdict::maybe;
    }
    if (!any_column) {
      Candidates seen(predicate);
      seen.absent();
      return seen.verdict();
    }
    return absent_matches(predicate) ? Verdict::maybe : Verdict::never;
  }

  Verdict text(const Predicate& predicate) {
    if (predicate.kind == Kind::contains && predicate.text.empty()) return Verdict::always;
    if (header_ == nullptr || probe_ == nullptr) return Verdict::maybe;
    switch (predicate.kind) {
      case Kind::contains:
      case Kind::string_equal:
        return probe_->may_contain(predicate.text) ? Verdict::maybe : Verdict::never;
      case Kind::regex_full:
      case Kind::regex_search:
        for (const std::string& literal : predicate.regex->required_literals()) {
          if (!probe_->may_contain(literal)) return Verdict::never;
        }
        return Verdict::maybe;
      default: return Verdict::maybe;
    }
  }

  const StreamJoin& join_;
  const BlockHeader* header_;
  TextProbe* probe_;
};

}  // namespace

Verdict judge(const Predicate& predicate, const StreamJoin& join, const BlockHeader* header,
              TextProbe* probe) {
  return Judge(join, header, probe).of(predicate);
}

}  // namespace logarithm::aggregator
