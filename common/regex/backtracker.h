#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/regex/digit_watch.h"
#include "common/regex/pattern_tree.h"

namespace logarithm {

// Runs a pattern over bytes by backtracking, several times faster than RE2 where groups are wanted
// and texts are short. What it finds is what RE2 finds (leftmost, first alternative first). It
// never takes long: after a number of steps that is linear in the text it gives up, and RE2 must
// answer. Immutable; thread-safe.
class Backtracker {
 public:
  enum class Outcome { match, no_match, gave_up };

  // nullptr for patterns that it cannot run.
  static std::unique_ptr<const Backtracker> compile(std::string_view pattern, bool fold_case,
                                                    std::size_t groups);

  // The first match that begins at `from` or later. `places` gets begin and end of all groups (the
  // whole match is group 0), -1 where one took no part; it is valid only with a match.
  Outcome search(std::string_view text, std::size_t from, std::vector<std::int32_t>& places) const;
  // The same, and notes where the value of a digit was looked at. Slower.
  Outcome search(std::string_view text, std::size_t from, std::vector<std::int32_t>& places,
                 DigitWatch& watch) const;

  // False when no text matches that `shape` stands for: one with each `hole` byte replaced by any
  // bytes of `fill`. True proves nothing. Costs far more than a search.
  bool may_match(std::string_view shape, char hole, const ByteSet& fill) const;

 private:
  friend class ShapeRun;
  friend class BacktrackCompiler;
  template <bool kWatched>
  friend class BacktrackRun;

  enum class Op : std::uint8_t {
    byte,      // one byte of set `set`
    text,      // the bytes texts_[index]
    run,       // bytes of `set`, least to most, as many as there are, none given back
    run_back,  // the same, given back one by one
    run_lazy,  // as few as possible
    choice,    // branches_[index, index + count), the first that leads to a match
    save,      // place `index` is here
    begin_text,
    end_text,
    word_boundary,
    no_word_boundary,
    jump,  // to `index`
    match,
  };
  struct Step {
    Op op = Op::match;
    std::uint16_t set = 0;
    std::uint16_t follow = 0;  // run_back, run_lazy: what the next byte must be of
    bool may_end = false;      // … unless what follows may be empty
    std::uint32_t index = 0, count = 0;
    std::int32_t least = 0, most = -1;
  };
  struct Branch {
    std::uint32_t step = 0;
    std::uint16_t first = 0;  // the set that its first byte must be of
    bool may_be_empty = false;
  };

  std::vector<Step> steps_;
  std::vector<Branch> branches_;
  std::vector<ByteSet> sets_;
  std::vector<std::uint8_t> tells_digits_;  // by set: it has some digits and not others
  std::vector<std::string> texts_;
  std::size_t groups_ = 1;
  ByteSet first_;  // of any match
  bool first_tells_digits_ = false;
  bool may_be_empty_ = false;
  bool anchored_ = false;            // begins with ^
  std::string prefix_;               // every match begins with it
  std::int32_t behind_prefix_ = -1;  // the set of the byte behind it; -1: not known
};

}  // namespace logarithm
