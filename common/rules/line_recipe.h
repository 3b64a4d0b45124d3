#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/regex/digit_watch.h"
#include "common/rules/duration.h"
#include "common/rules/field_value.h"
#include "common/rules/rule_set.h"

namespace logarithm {

// "5,856" is a number here: metric lines print thousands.
std::optional<double> pair_value(std::string_view text);
// "3420", "3,420", "3420.0" (Lightning prints steps as floats) and "12/94".
std::optional<std::int64_t> iteration_of(std::string_view text);

// A rank, a pid, a size: not negative, 31 bits.
std::optional<std::int32_t> small_int(std::string_view text);

// Which part of a mapping a field is (`maps: process`).
enum class MappingPart : std::uint8_t { none, pid, rank, local_rank, group_rank, world_size, host };
// Gives `mapping` what `text` says of `part`; false where that is not what it should be.
bool set_part(ProcessMapping& mapping, MappingPart part, std::string_view text);

// One thing that rules read in a body, and what came of it.
struct RecipeStep {
  enum class Reads : std::uint8_t {
    nothing,    // `value` is the value
    field,      // field_value(type, text): any text is one
    pair,       // pair_value
    step,       // parse_int with thousands
    iteration,  // iteration_of
    time,       // parse_time
    entry_int,  // of a dictionary: parse_int
    entry_real,
    small,     // small_int
    duration,  // read_duration, of which `value` is the size
    scaled,    // pair_value, times `value`
  };
  enum class Gives : std::uint8_t { nothing, meta, iteration, time, mapping };

  Reads reads = Reads::nothing;
  Gives gives = Gives::nothing;
  bool must = true;  // whether it was such a value, and has to be again
  FieldType type = FieldType::string;
  MappingPart part = MappingPart::none;
  std::uint32_t begin = 0, size = 0;  // of the text
  std::string key;
  MetaValue value;
};

// What rules found in one body, as places in it: how to read any body of the same shape (see
// common/line/digit_shape.h) without running them.
class LineRecipe {
 public:
  // Where places of the body that the recipe was made of lie in another one, whose numbers have
  // more digits or fewer; one more than it has bytes.
  using Places = const std::uint16_t*;

  // Fills `out` with what the rules would find in `body`. False, with `out` unusable, when a number
  // is not what it was (too large, no iteration): then the rules must run.
  bool read(std::string_view body, Extraction& out) const { return read(body, nullptr, out); }
  // The same in a body where what is read lies elsewhere.
  bool read(std::string_view body, Places places, Extraction& out) const;
  // The recipe for bodies in which all lies at `places`.
  LineRecipe moved(Places places) const;

 private:
  friend class RecipeWriter;

  // A step, small: there are thousands of recipes.
  struct Step {
    RecipeStep::Reads reads = RecipeStep::Reads::nothing;
    RecipeStep::Gives gives = RecipeStep::Gives::nothing;
    bool must = true;
    FieldType type = FieldType::string;
    MappingPart part = MappingPart::none;
    std::uint8_t pair = 0;              // which of pairs_ it gives
    std::uint8_t factor = 0;            // which of factors_
    std::uint16_t begin = 0, size = 0;  // of the text
  };

  bool pack(const std::vector<RecipeStep>& steps, const Extraction& found);
  bool run(const Step& step, std::string_view body, Places places, Extraction& out) const;
  template <typename Value>
  bool take(const Step& step, const Value& value, Extraction& out) const;
  bool run_duration(const Step& step, std::string_view text, std::string_view behind,
                    Extraction& out) const;

  std::vector<Step> steps_;
  std::vector<MetaPair> pairs_;  // what comes out, but for the values that are read
  std::vector<MetaValue> factors_;
  std::vector<std::pair<std::uint16_t, char>> digits_;  // that have to be what they were
  std::optional<Severity> severity_;
  bool carry_iteration_ = false;
  bool has_callsite_ = false, maps_ = false;
  std::uint32_t file_begin_ = 0, file_size_ = 0, line_begin_ = 0, line_size_ = 0;
  std::vector<EventMark> events_;
};

// Notes what RuleRun does on one body. Where the outcome may depend on the values of digits in
// another way than the recipe checks, there is none.
class RecipeWriter {
 public:
  explicit RecipeWriter(std::string_view body) : body_(body) {}

  void forget() { usable_ = false; }
  DigitWatch& watch() { return watch_; }
  // What rules made of `text` depends on its digits.
  void watch(std::string_view text);
  // ... on how many digits its numbers have.
  void watch_widths(std::string_view text);

  // A clock or a duration that begins with `text`.
  void look(std::string_view text, const Duration& found);
  void give_duration(std::string_view text, const Duration& found, std::string_view key);
  void give_scaled(std::string_view text, double scale, std::string_view key);
  // A value that was looked for in `text`.
  void look(RecipeStep::Reads reads, std::string_view text, bool found);
  // It gave the newest pair of metadata, whose key is `key`.
  void give(RecipeStep::Reads reads, std::string_view text, std::string_view key,
            FieldType type = FieldType::string);
  void give(std::string_view key, const MetaValue& value);
  void iteration(std::string_view text);
  void time(std::string_view text);
  void mapping(MappingPart part, std::string_view text, bool found);
  void callsite(std::string_view file, std::string_view line);

  // The recipe, when `found` is what the rules found; nullopt when there is none. Then `shape`, the
  // body's (see common/line/digit_shape.h), is marked: a number that has to have as many digits as
  // here is made of kFixed instead of '1'.
  std::optional<LineRecipe> finish(const Extraction& found, std::string& shape);
  static constexpr char kFixed = '2';

 private:
  RecipeStep& add(RecipeStep::Reads reads, std::string_view text);
  void mark_fixed(std::string& shape);

  std::string_view body_;
  bool usable_ = true;
  DigitWatch watch_;
  std::vector<RecipeStep> steps_;
  LineRecipe recipe_;
};

}  // namespace logarithm
