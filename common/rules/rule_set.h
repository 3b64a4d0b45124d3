#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/line/line.h"
#include "common/line/log_time.h"
#include "common/line/template.h"

namespace logarithm {

class LineRecipe;  // line_recipe.h

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
  std::optional<PrintedTime> time;        // field of type `time`
  std::string callsite;                   // "file:line" from the fields `file` and `line`
  std::optional<ProcessMapping> mapping;
  bool empty() const {
    return meta.empty() && events.empty() && !severity && !iteration && !time && callsite.empty() &&
           !mapping;
  }
  void clear() {
    meta.clear();
    events.clear();
    severity.reset();
    iteration.reset();
    carry_iteration = false;
    time.reset();
    callsite.clear();
    mapping.reset();
  }
};

// What a rule has cost and found since the set was built; scaled up from samples.
struct RuleCost {
  std::string name;
  double seconds = 0;
  std::uint64_t runs = 0, hits = 0;
};

// A compiled, immutable set of extract rules; thread-safe. RE2 in Latin-1 mode over bytes, input
// cut at 16 KiB (redaction sees all of a line).
class RuleSet {
 public:
  static constexpr std::size_t kInputCap = 16u << 10;

  struct Source {
    std::string file;  // for messages
    std::string yaml;
  };
  struct Options {
    std::uint32_t sample_every = 512;  // of so many lines one is timed for costs(); a power of two
    bool any_stream = false;           // rules of certain streams look at all of them: to try rules
  };
  // Later sources override earlier rules by name. Bad rules are left out and reported.
  static std::shared_ptr<const RuleSet> build(const std::vector<Source>& sources,
                                              std::vector<RuleProblem>& problems);
  static std::shared_ptr<const RuleSet> build(const std::vector<Source>& sources,
                                              std::vector<RuleProblem>& problems,
                                              const Options& options);
  // The packs embedded in the program (config/rules/*.yaml).
  static std::vector<Source> shipped();

  virtual ~RuleSet() = default;
  // Applies all rules to one body. `stream` is the stream's name ("stdout", "kernel").
  virtual void apply(std::string_view body, std::string_view stream, Extraction& out) const = 0;
  // The same, and the template of the body. What lines of one digit shape have in common is
  // remembered: by far the fastest of the three.
  virtual TemplateId read(std::string_view body, std::string_view stream,
                          Extraction& out) const = 0;
  // What read() has learned of the shape of a body; null for a new one. Whoever knows a body's
  // shape by other means keeps it, and spares read() the look.
  struct Known {
    TemplateId id = 0;
    std::shared_ptr<const LineRecipe> recipe;  // null: the rules have to run
  };
  virtual std::optional<Known> recall(std::string_view body, std::string_view stream) const {
    static_cast<void>(body);
    static_cast<void>(stream);
    return std::nullopt;
  }
  // read() of a body of the shape of which `known` was recalled, by this set for this stream. Its
  // template is known.id.
  virtual void read_known(const Known& known, std::string_view body, std::string_view stream,
                          Extraction& out) const {
    static_cast<void>(known);
    read(body, stream, out);
  }
  // Tells sets and what they make of a stream's name apart: what is recalled holds where this is
  // the same. 0: nothing is ever recalled.
  virtual std::uint64_t context(std::string_view stream) const {
    static_cast<void>(stream);
    return 0;
  }
  // apply() where the body's mask is known: `masked` is mask_body(body), `id` its fingerprint.
  // The template tells from memory which rules can hit.
  virtual void apply(std::string_view body, const MaskedBody& masked, TemplateId id,
                     std::string_view stream, Extraction& out) const = 0;
  // Applies the rules `over: record` to a joined record (lines separated by "\n", none at the end)
  // when it closes. What they find belongs to the record's last line.
  virtual void apply_record(std::string_view record, std::string_view stream,
                            Extraction& out) const = 0;

  // A secret found in a line. Replace [begin, begin + length) by kRedacted.
  struct Secret {
    std::size_t begin = 0, length = 0;
  };
  static constexpr std::string_view kRedacted = "[redacted]";
  // The spans that `redact` rules mask, ascending and disjoint; empty nearly always. All of `raw`
  // is looked at. Cheap when nothing is found.
  virtual void find_secrets(std::string_view raw, std::vector<Secret>& out) const = 0;
  // False when neither `raw` nor any text that differs from it in digits only holds a secret.
  virtual bool may_hold_secret(std::string_view raw) const {
    static_cast<void>(raw);
    return redacts();
  }
  virtual bool redacts() const = 0;

  virtual std::size_t size() const = 0;
  // One per rule, in the order in which they run.
  virtual std::vector<RuleCost> costs() const = 0;
};

}  // namespace logarithm
