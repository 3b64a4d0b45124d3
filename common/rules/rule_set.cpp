#include "common/rules/rule_set.h"

#include <algorithm>

#include "common/rules/literal_scanner.h"
#include "common/rules/rule_loader.h"
#include "common/rules/shipped_rules.h"

namespace logarithm {
namespace {

constexpr std::size_t kMaxPairs = 128;  // of one line; what repeats more often is no metric line

bool overlaps(std::string_view a, std::string_view b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

void add_meta(std::vector<MetaPair>& meta, MetaPair pair) {
  for (auto& known : meta) {  // the first rule that names a key with a type keeps it
    if (known.key == pair.key && known.value.index() == pair.value.index()) {
      known.point = known.point || pair.point;
      return;
    }
  }
  meta.push_back(std::move(pair));
}

// Two rules that say the same of a line (one general, one special) mark it once.
void add_event(std::vector<EventMark>& events, const EventMark& mark) {
  const bool known = std::any_of(events.begin(), events.end(), [&](const EventMark& e) {
    return e.kind == mark.kind && e.klass == mark.klass;
  });
  if (!known) events.push_back(mark);
}

void raise_severity(Extraction& out, std::optional<Severity> severity) {
  if (severity && (!out.severity || *out.severity < *severity)) out.severity = severity;
}

class CompiledRules final : public RuleSet {
 public:
  explicit CompiledRules(std::vector<Rule> rules) : rules_(std::move(rules)) {
    for (std::uint32_t i = 0; i < rules_.size(); ++i) {
      const Regex& first = rules_[i].match ? *rules_[i].match : *rules_[i].each;
      const auto literals = first.required_literals();
      if (literals.empty()) {
        unfiltered_.push_back(i);
      } else {
        scanner_.add(literals.front(), i);
      }
    }
    scanner_.build();
  }

  void apply(std::string_view body, std::string_view stream, Extraction& out) const override {
    body = body.substr(0, kInputCap);
    out.meta.clear();
    out.events.clear();
    out.severity.reset();
    out.iteration.reset();
    out.carry_iteration = false;
    out.time.reset();

    std::string_view iteration;                        // where the body says it
    thread_local std::vector<std::uint8_t> candidate;  // scratch: no allocation per line
    candidate.assign(rules_.size(), 0);
    for (std::uint32_t i : unfiltered_) candidate[i] = 1;
    scanner_.scan(body, candidate);
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (candidate[i] != 0) apply_rule(rules_[i], body, stream, iteration, out);
    }
    drop_roots_of_cascades(out);
  }

  std::size_t size() const override { return rules_.size(); }

 private:
  static void apply_rule(const Rule& rule, std::string_view body, std::string_view stream,
                         std::string_view& iteration, Extraction& out) {
    if (!rule.streams.empty() &&
        std::find(rule.streams.begin(), rule.streams.end(), stream) == rule.streams.end()) {
      return;
    }
    thread_local Regex::Groups groups;
    groups.clear();
    // Most candidates miss. Without captures RE2 runs its DFA alone, which an anchored pattern
    // leaves after a few bytes; with captures it would start the slow matcher at once on a short
    // text.
    if (rule.match && (!rule.match->search(body) || !rule.match->search(body, groups))) return;
    take_fields(rule, groups, iteration, out);
    if (rule.each && !take_pairs(rule, body, groups, iteration, out) && !rule.match) return;
    for (const auto& constant : rule.constants) add_meta(out.meta, constant);
    raise_severity(out, rule.severity);
    for (const auto& by_group : rule.group_severity) {
      const auto& text = groups[by_group.group];
      if (text) raise_severity(out, by_group.level ? by_group.level : parse_severity(*text));
    }
    if (rule.event) add_event(out.events, *rule.event);
  }

  static void take_fields(const Rule& rule, const Regex::Groups& groups,
                          std::string_view& iteration, Extraction& out) {
    if (rule.iteration_group && groups[*rule.iteration_group]) {
      const auto value = parse_int(*groups[*rule.iteration_group], true);
      if (value && !out.iteration) {
        out.iteration = value;
        iteration = *groups[*rule.iteration_group];
        out.carry_iteration = rule.carry_iteration;
      }
    }
    for (const auto& field : rule.fields) {
      const auto& text = groups[field.group];
      if (text) add_meta(out.meta, {field.name, field_value(field.type, *text), field.point});
    }
  }

  // The pairs of `each` as float fields; returns whether there was any.
  static bool take_pairs(const Rule& rule, std::string_view body, const Regex::Groups& groups,
                         std::string_view iteration, Extraction& out) {
    thread_local Regex::Groups pair;
    std::size_t from = 0;
    bool any = false;
    for (std::size_t count = 0; count < kMaxPairs && rule.each->search_from(body, from, pair);
         ++count) {
      const auto end = static_cast<std::size_t>(pair[0]->data() - body.data()) + pair[0]->size();
      from = pair[0]->empty() ? end + 1 : end;
      const auto &key = pair[rule.each_key], &text = pair[rule.each_value];
      if (!key || !text || overlaps(iteration, *text) || captured(rule, groups, *text)) continue;
      const auto value = pair_value(*text);
      std::string name = metric_name(*key);
      if (!value || name.empty()) continue;
      const bool point =
          std::find(rule.points.begin(), rule.points.end(), name) != rule.points.end();
      add_meta(out.meta, {std::move(name), *value, point});
      any = true;
    }
    return any;
  }

  // "5,856" is a number here: metric lines print thousands.
  static std::optional<double> pair_value(std::string_view text) {
    if (text.find(',') == std::string_view::npos) return parse_double(text);
    std::string digits(text);
    std::erase(digits, ',');
    return parse_double(digits);
  }

  // What `match` has captured as a field is not a pair a second time; nor is the iteration,
  // whichever rule found it.
  static bool captured(const Rule& rule, const Regex::Groups& groups, std::string_view text) {
    auto taken = [&](std::size_t group) { return groups[group] && overlaps(*groups[group], text); };
    return std::any_of(rule.fields.begin(), rule.fields.end(),
                       [&](const Rule::Field& field) { return taken(field.group); });
  }

  // A line that says a peer went away is not a cause, even where it also names an exception.
  static void drop_roots_of_cascades(Extraction& out) {
    if (out.events.size() < 2) return;
    const bool follows = std::any_of(out.events.begin(), out.events.end(), [](const EventMark& e) {
      return e.klass == "cascade" || e.klass == "teardown";
    });
    if (follows) std::erase_if(out.events, [](const EventMark& e) { return e.klass == "root"; });
  }

  std::vector<Rule> rules_;
  std::vector<std::uint32_t> unfiltered_;  // rules of which no literal is known
  LiteralScanner scanner_;
};

}  // namespace

std::shared_ptr<const RuleSet> RuleSet::build(const std::vector<Source>& sources,
                                              std::vector<RuleProblem>& problems) {
  std::vector<Rule> all;
  for (const Source& source : sources) {
    for (Rule& rule : load_rules(source, problems)) {
      auto known =
          std::find_if(all.begin(), all.end(), [&](const Rule& r) { return r.name == rule.name; });
      if (known == all.end()) {
        all.push_back(std::move(rule));
      } else {
        *known = std::move(rule);
      }
    }
  }
  return std::make_shared<CompiledRules>(std::move(all));
}

std::vector<RuleSet::Source> RuleSet::shipped() { return shipped_rules(); }

}  // namespace logarithm
