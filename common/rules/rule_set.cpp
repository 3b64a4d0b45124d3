#include "common/rules/rule_set.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "common/base/clock.h"
#include "common/rules/candidates.h"
#include "common/rules/rule_loader.h"
#include "common/rules/rule_run.h"
#include "common/rules/shape_memory.h"
#include "common/rules/shipped_rules.h"

namespace logarithm {
namespace {

constexpr std::size_t kMaxSecrets = 1000;  // of one line; with more all of the rest is masked

struct RuleCounters {
  std::atomic<std::uint64_t> runs{0}, hits{0}, nanos{0};
};

std::vector<bool> rules_where(const std::vector<Rule>& rules, bool (*wanted)(const Rule&)) {
  std::vector<bool> out;
  for (const Rule& rule : rules) out.push_back(wanted(rule));
  return out;
}

class CompiledRules final : public RuleSet {
 public:
  CompiledRules(std::vector<Rule> rules, const Options& options)
      : rules_(std::move(rules)),
        counters_(rules_.size()),
        sample_every_(std::bit_ceil(std::max<std::uint32_t>(options.sample_every, 1))) {
    of_line_.build(rules_, rules_where(rules_, [](const Rule& rule) {
                     return !rule.redact && rule.over == Rule::Over::line;
                   }));
    of_record_.build(rules_, rules_where(rules_, [](const Rule& rule) {
                       return !rule.redact && rule.over == Rule::Over::record;
                     }));
    of_secret_.build(rules_,
                     rules_where(rules_, [](const Rule& rule) { return rule.redact.has_value(); }));
    static std::atomic<std::uint64_t> numbers{0};
    number_ = ++numbers;
    for (const Rule& rule : rules_) {
      for (const std::string& stream : rule.streams) {
        if (stream_number(stream) == 0) streams_.push_back(stream);
      }
    }
    redacts_ = std::any_of(rules_.begin(), rules_.end(),
                           [](const Rule& rule) { return rule.redact.has_value(); });
  }

  void apply(std::string_view body, std::string_view stream, Extraction& out) const override {
    body = body.substr(0, kInputCap);
    run(of_line_.find(body), body, stream, out, time_this());
  }

  void apply(std::string_view body, const MaskedBody& masked, TemplateId id,
             std::string_view stream, Extraction& out) const override {
    // A body that is cut is not what the mask was made of.
    if (body.size() > kInputCap) return apply(body, stream, out);
    run(of_line_.find(body, masked, id), body, stream, out, time_this());
  }

  TemplateId read(std::string_view body, std::string_view stream, Extraction& out) const override {
    ShapeMemory& shapes = memory();
    ShapeMemory::Shape shape;
    const bool worth = body.size() <= ShapeMemory::kLongest;
    const bool timed = time_this();
    if (worth) {
      const auto* known = shapes.find(body, number_, stream_number(stream), shape);
      if (known != nullptr && known->recipe && !timed && known->recipe->read(body, out)) {
        return known->id;
      }
      if (known == nullptr && !timed) {
        const auto [loose, places] = shapes.find_loose(shape);
        if (loose != nullptr) {
          if (loose->recipe->read(body, places, out)) return loose->id;
        } else if (shapes.again(shape)) {
          return learn(shapes, shape, body, stream, out);
        }
      }
    }
    return run_masked(body, stream, out, timed);
  }

  std::optional<Known> recall(std::string_view body, std::string_view stream) const override {
    if (body.size() > ShapeMemory::kLongest) return std::nullopt;
    ShapeMemory::Shape shape;
    const auto* known = memory().find(body, number_, stream_number(stream), shape);
    if (known != nullptr) return Known{known->id, known->recipe};
    const auto [loose, places] = memory().find_loose(shape);
    if (loose == nullptr) return std::nullopt;
    return Known{loose->id, std::make_shared<const LineRecipe>(loose->recipe->moved(places))};
  }

  void read_known(const Known& known, std::string_view body, std::string_view stream,
                  Extraction& out) const override {
    const bool timed = time_this();
    if (!timed && known.recipe && known.recipe->read(body, out)) return;
    run_masked(body, stream, out, timed);
  }

  std::uint64_t context(std::string_view stream) const override {
    return number_ << 16 | stream_number(stream);
  }

  bool may_hold_secret(std::string_view raw) const override {
    return redacts_ && !of_secret_.find_shape(raw).empty();
  }

  void apply_record(std::string_view record, std::string_view stream,
                    Extraction& out) const override {
    record = record.substr(0, kInputCap);
    run(of_record_.find(record), record, stream, out, time_this());
  }

  bool redacts() const override { return redacts_; }

  void find_secrets(std::string_view raw, std::vector<Secret>& out) const override {
    out.clear();
    if (!redacts_) return;
    for (const std::uint16_t number : of_secret_.find(raw)) {
      add_secrets(rules_[number], raw, out);
    }
    if (out.size() > 1) merge(out);
  }

  std::size_t size() const override { return rules_.size(); }

  std::vector<RuleCost> costs() const override {
    std::vector<RuleCost> out;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const RuleCounters& counters = counters_[i];
      RuleCost cost;
      cost.name = rules_[i].name;
      cost.runs = counters.runs.load(std::memory_order_relaxed) * sample_every_;
      cost.hits = counters.hits.load(std::memory_order_relaxed) * sample_every_;
      cost.seconds =
          static_cast<double>(counters.nanos.load(std::memory_order_relaxed) * sample_every_) *
          1e-9;
      out.push_back(std::move(cost));
    }
    return out;
  }

 private:
  static ShapeMemory& memory() {
    thread_local ShapeMemory shapes;
    return shapes;
  }

  // One line in sample_every_ is timed.
  bool time_this() const {
    thread_local std::uint32_t lines = 0;
    return (lines++ & (sample_every_ - 1)) == 0;
  }

  // What the rules make of a stream's name: 0 where none asks for it.
  std::uint32_t stream_number(std::string_view stream) const {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (streams_[i] == stream) return static_cast<std::uint32_t>(i) + 1;
    }
    return 0;
  }

  void run(const std::vector<std::uint16_t>& candidates, std::string_view body,
           std::string_view stream, Extraction& out, bool timed) const {
    if (candidates.empty()) return out.clear();
    thread_local RuleRun current;  // scratch: no allocation per line
    current.begin(body, stream, out);
    if (timed) {
      for (const std::uint16_t number : candidates) run_timed(current, number);
    } else {
      for (const std::uint16_t number : candidates) current.apply(rules_[number]);
    }
    current.finish();
  }

  // Runs the rules that its template leaves.
  TemplateId run_masked(std::string_view body, std::string_view stream, Extraction& out,
                        bool timed) const {
    thread_local MaskedBody masked;
    mask_text(body, masked);
    const TemplateId id = fingerprint(masked.text);
    if (body.size() > kInputCap) {
      body = body.substr(0, kInputCap);
      run(of_line_.find(body), body, stream, out, timed);
    } else {
      run(of_line_.find(body, masked, id), body, stream, out, timed);
    }
    return id;
  }

  // Runs the rules on a body whose shape came before, and remembers what they did.
  TemplateId learn(ShapeMemory& shapes, const ShapeMemory::Shape& shape, std::string_view body,
                   std::string_view stream, Extraction& out) const {
    thread_local RuleRun current;
    RecipeWriter writer(body);
    current.begin(body, stream, out, &writer);
    for (const std::uint16_t number : of_line_.find_shape(body)) current.apply(rules_[number]);
    current.finish();
    const TemplateId id = template_of(body);
    std::string marked(shape.text);
    auto found = writer.finish(out, marked);
    auto recipe = found ? std::make_shared<const LineRecipe>(std::move(*found)) : nullptr;
    const bool loose = recipe && shape.loose != 0 && marked.find('1') != std::string::npos;
    if (loose) {
      shapes.put_loose(shape, std::move(marked), id, std::move(recipe));
    } else {
      if (shape.loose != 0 && !shape.loose_known) shapes.put_loose(shape, "", id, nullptr);
      shapes.put(shape, id, std::move(recipe));
    }
    return id;
  }

  void run_timed(RuleRun& current, std::uint16_t number) const {
    const SystemClock clock;
    const MonotonicTime begin = clock.now();
    const bool hit = current.apply(rules_[number]);
    const auto nanos = std::chrono::nanoseconds(clock.now() - begin).count();
    RuleCounters& counters = counters_[number];
    counters.runs.fetch_add(1, std::memory_order_relaxed);
    counters.nanos.fetch_add(static_cast<std::uint64_t>(nanos), std::memory_order_relaxed);
    if (hit) counters.hits.fetch_add(1, std::memory_order_relaxed);
  }

  static void add_secrets(const Rule& rule, std::string_view raw, std::vector<Secret>& out) {
    thread_local Regex::Groups groups;
    std::size_t from = 0;
    while (rule.redact->search_from(raw, from, groups)) {
      const auto& whole = *groups[0];
      const std::string_view secret = groups[rule.redact_group].value_or(whole);
      const auto begin = static_cast<std::size_t>(secret.data() - raw.data());
      const auto end = static_cast<std::size_t>(whole.data() - raw.data()) + whole.size();
      if (out.size() >= kMaxSecrets) {
        out.push_back({begin, raw.size() - begin});
        return;
      }
      if (!secret.empty()) out.push_back({begin, secret.size()});
      from = whole.empty() ? end + 1 : end;
    }
  }

  static void merge(std::vector<Secret>& secrets) {
    std::sort(secrets.begin(), secrets.end(),
              [](const Secret& a, const Secret& b) { return a.begin < b.begin; });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < secrets.size(); ++i) {
      Secret& last = secrets[kept];
      const std::size_t end = last.begin + last.length;
      if (secrets[i].begin <= end) {
        last.length = std::max(end, secrets[i].begin + secrets[i].length) - last.begin;
      } else {
        secrets[++kept] = secrets[i];
      }
    }
    secrets.resize(kept + 1);
  }

  std::vector<Rule> rules_;
  mutable std::vector<RuleCounters> counters_;
  std::uint32_t sample_every_;
  bool redacts_ = false;
  std::uint64_t number_ = 0;          // which set, for what threads remember
  std::vector<std::string> streams_;  // that rules ask for
  Candidates of_line_, of_record_, of_secret_;
};

}  // namespace

std::shared_ptr<const RuleSet> RuleSet::build(const std::vector<Source>& sources,
                                              std::vector<RuleProblem>& problems) {
  return build(sources, problems, Options());
}

std::shared_ptr<const RuleSet> RuleSet::build(const std::vector<Source>& sources,
                                              std::vector<RuleProblem>& problems,
                                              const Options& options) {
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
  if (options.any_stream) {
    for (Rule& rule : all) rule.streams.clear();
  }
  return std::make_shared<CompiledRules>(std::move(all), options);
}

std::vector<RuleSet::Source> RuleSet::shipped() { return shipped_rules(); }

}  // namespace logarithm
