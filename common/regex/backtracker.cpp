#include "common/regex/backtracker.h"

#include <algorithm>
#include <cstring>

#include "common/regex/find_text.h"

namespace logarithm {
namespace {

// A search takes at most so many steps a byte: of the first ones, and of all behind them, where a
// text is so long that RE2's beginning costs nothing.
constexpr std::int64_t kStepsPerByte = 8, kShort = 2048;

std::int64_t budget_of(std::size_t size) {
  const auto bytes = static_cast<std::int64_t>(size) + 64;
  return bytes + (kStepsPerByte - 1) * std::min(bytes, kShort);
}

bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
bool is_word(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

// One search. Choices that are open, and what a group's place was before, lie on one stack. A run
// that is watched notes whether the value of a digit was looked at.
template <bool kWatched>
class BacktrackRun {
 public:
  BacktrackRun(const Backtracker& program, std::string_view text, std::vector<std::int32_t>& places,
               DigitWatch* watch)
      : program_(program),
        text_(reinterpret_cast<const unsigned char*>(text.data())),
        size_(static_cast<std::int32_t>(text.size())),
        places_(places),
        stack_(shared_stack()),
        watch_(watch),
        budget_(budget_of(text.size())) {
    stack_.clear();
  }

  Backtracker::Outcome search(std::size_t from) {
    places_.assign(2 * program_.groups_, -1);
    auto at = static_cast<std::int32_t>(from);
    if (at > 0 && digit_at(at - 1)) note_width(at);
    if (program_.anchored_) {
      if (from != 0) return Backtracker::Outcome::no_match;
      return match_at(0);
    }
    for (;; ++at) {
      at = next_start(at);
      if (at < 0) return Backtracker::Outcome::no_match;
      const Backtracker::Outcome outcome = match_at(at);
      if (outcome != Backtracker::Outcome::no_match) return outcome;
      note_begins(at);
    }
  }

 private:
  using Op = Backtracker::Op;
  struct Entry {
    enum class Kind : std::uint8_t { resume, give_back, take_more, place };
    Kind kind = Kind::resume;
    std::uint32_t step = 0;  // to go on at; for `place` which one
    std::int32_t at = 0;     // position; for `place` what it was
    std::int32_t bound = 0;  // give_back: not before this; take_more: not past this
  };

  static std::vector<Entry>& shared_stack() {
    thread_local std::vector<Entry> entries;
    return entries;
  }

  bool has(std::uint16_t set, std::int32_t at) const {
    if constexpr (kWatched) {
      if (program_.tells_digits_[set] != 0 && is_digit(text_[at])) note(at);
    }
    return program_.sets_[set].has(text_[at]);
  }
  bool has_text(const std::string& wanted, std::int32_t at) const {
    if constexpr (kWatched) {
      // Also where the text ends too soon: with more digits it might not.
      for (const char c : wanted) {
        if (at >= size_) return false;
        if (is_digit(static_cast<unsigned char>(c)) && is_digit(text_[at])) note(at);
        if (static_cast<unsigned char>(c) != text_[at++]) return false;
      }
      return true;
    }
    if (size_ - at < static_cast<std::int32_t>(wanted.size())) return false;
    return std::memcmp(text_ + at, wanted.data(), wanted.size()) == 0;
  }
  void note(std::int32_t at) const { watch_->note(static_cast<std::uint32_t>(at)); }

  // How many digits a number has decides where something may go on in the middle of it. That shows
  // at its first digit, or else where one of its digits was taken alone: with more digits, or
  // fewer, there would be other places of that kind.
  bool digit_at(std::int32_t at) const { return at >= 0 && at < size_ && is_digit(text_[at]); }
  void note_width(std::int32_t at) const {
    if constexpr (kWatched) {
      if (digit_at(at)) watch_->note_width(static_cast<std::uint32_t>(at));
    }
  }
  // No match begins at `at`. Each digit more of a number is one more place to begin at; what is
  // tried there is what was tried at its first digit, or less of it, but for \B.
  void note_begins(std::int32_t at) const {
    if constexpr (kWatched) {
      const auto& steps = program_.steps_;
      if (digit_at(at) && std::any_of(steps.begin(), steps.end(), [](const auto& step) {
            return step.op == Op::no_word_boundary;
          })) {
        note_width(at);
      }
    }
  }
  // Bytes from `begin` to `end` were taken by step `number`, which may count them.
  void note_counted(std::uint32_t number, std::int32_t begin, std::int32_t end) const {
    if constexpr (kWatched) {
      const Backtracker::Step& step = program_.steps_[number];
      if ((step.most < 0 && step.least <= 1) || never_follows(number, begin)) return;
      for (std::int32_t at = begin; at < end; ++at) note_width(at);
    }
  }
  // `\d{1,3},` in front of `1234 `: however many of the digits are taken, what follows fits neither
  // a digit nor what is behind the number.
  bool never_follows(std::uint32_t number, std::int32_t begin) const {
    const Backtracker::Step &step = program_.steps_[number], &next = program_.steps_[number + 1];
    if (step.op != Op::run || step.least > 1 || digit_at(begin - 1)) return false;
    std::int32_t end = begin;
    while (digit_at(end)) ++end;
    if (end < size_ && program_.sets_[step.set].has(text_[end])) return false;
    const auto fits = [&](unsigned char c) {
      return next.op == Op::text
                 ? static_cast<unsigned char>(program_.texts_[next.index].front()) == c
                 : program_.sets_[next.set].has(c);
    };
    if (next.op != Op::text && next.op != Op::byte) return false;
    for (unsigned char c = '0'; c <= '9'; ++c) {
      if (fits(c)) return false;
    }
    return end == size_ || !fits(text_[end]);
  }
  // What follows could go on between two digits.
  bool follows_in_number(std::uint32_t number) const {
    if (program_.steps_[number + 1].op == Op::word_boundary) return false;
    const Backtracker::Step& step = program_.steps_[number];
    if (step.may_end) return true;
    const ByteSet& set = program_.sets_[step.follow];
    for (unsigned char c = '0'; c <= '9'; ++c) {
      if (set.has(c)) return true;
    }
    return false;
  }
  void note_middle(std::uint32_t number, std::int32_t at) const {
    if constexpr (kWatched) {
      if (digit_at(at) && follows_in_number(number)) note_width(at);
    }
  }
  // One byte was taken at `at`. `[a-z0-9][a-z0-9]*` takes a number as `[a-z0-9]+` does.
  void note_byte(std::uint32_t number, std::int32_t at) const {
    if constexpr (kWatched) {
      if (!digit_at(at)) return;
      const Backtracker::Step& next = program_.steps_[number + 1];
      const bool goes_on = (next.op == Op::run || next.op == Op::run_back) && next.most < 0 &&
                           next.least == 0 && has_all_digits(next.set);
      if (!goes_on || digit_at(at - 1)) note_width(at);
    }
  }
  bool has_all_digits(std::uint16_t set) const {
    for (unsigned char c = '0'; c <= '9'; ++c) {
      if (!program_.sets_[set].has(c)) return false;
    }
    return true;
  }

  // The first place at or behind `at` where a match can begin; -1 when there is none.
  std::int32_t next_start(std::int32_t at) {
    if (at > size_) return -1;
    if (program_.may_be_empty_) return at;
    const std::string& prefix = program_.prefix_;
    if (!prefix.empty()) return next_prefix(at);
    while (at < size_ && !may_begin(at)) ++at;
    return at < size_ ? at : -1;
  }

  std::int32_t next_prefix(std::int32_t at) const {
    const std::string& prefix = program_.prefix_;
    if constexpr (kWatched) {
      while (at < size_ && !has_text(prefix, at)) ++at;
      return at < size_ ? at : -1;
    }
    const auto size = static_cast<std::int32_t>(prefix.size());
    const std::int32_t behind = program_.behind_prefix_;
    const std::string_view text(reinterpret_cast<const char*>(text_),
                                static_cast<std::size_t>(size_));
    const std::size_t found =
        find_text(text, prefix, static_cast<std::size_t>(at), [&](std::size_t place) {
          const auto next = static_cast<std::int32_t>(place) + size;
          return behind < 0 || (next < size_ && has(static_cast<std::uint16_t>(behind), next));
        });
    return found == std::string_view::npos ? -1 : static_cast<std::int32_t>(found);
  }

  bool may_begin(std::int32_t at) const {
    if constexpr (kWatched) {
      if (program_.first_tells_digits_ && is_digit(text_[at])) note(at);
    }
    return program_.first_.has(text_[at]);
  }

  Backtracker::Outcome match_at(std::int32_t at) {
    std::uint32_t number = 1;  // step 0 saves where the match begins
    places_[0] = at;
    for (;;) {
      if (go(number, at)) return Backtracker::Outcome::match;
      if (budget_ < 0) return Backtracker::Outcome::gave_up;
      if (!back(number, at)) return Backtracker::Outcome::no_match;
    }
  }

  // Goes on from step `number` at `at` until a match or a dead end.
  bool go(std::uint32_t number, std::int32_t at) {
    for (;;) {
      if (--budget_ < 0) return false;
      const Backtracker::Step& step = program_.steps_[number];
      switch (step.op) {
        case Op::byte:
          if (at >= size_ || !has(step.set, at)) return false;
          note_byte(number, at);
          ++at;
          break;
        case Op::text: {
          const std::string& wanted = program_.texts_[step.index];
          if (!has_text(wanted, at)) return false;
          at += static_cast<std::int32_t>(wanted.size());
          break;
        }
        case Op::run:
        case Op::run_back:
          if (!run(step, number, at)) return false;
          break;
        case Op::run_lazy:
          if (!run_lazy(step, number, at)) return false;
          break;
        case Op::choice:
          if (!choose(step, number, at)) return false;
          continue;
        case Op::save:
          stack_.push_back({Entry::Kind::place, step.index, places_[step.index], 0});
          places_[step.index] = at;
          break;
        case Op::begin_text:
          if (at != 0) return false;
          break;
        case Op::end_text:
          if (at != size_) return false;
          break;
        case Op::word_boundary:
          if (!boundary(at)) return false;
          break;
        case Op::no_word_boundary:
          if (boundary(at)) return false;
          break;
        case Op::jump: number = step.index; continue;
        case Op::match: return true;
      }
      ++number;
    }
  }

  bool boundary(std::int32_t at) const {
    const bool before = at > 0 && is_word(text_[at - 1]);
    const bool after = at < size_ && is_word(text_[at]);
    return before != after;
  }

  std::int32_t limit(const Backtracker::Step& step, std::int32_t at) const {
    return step.most < 0 || step.most > size_ - at ? size_ : at + step.most;
  }

  bool run(const Backtracker::Step& step, std::uint32_t number, std::int32_t& at) {
    const std::int32_t begin = at, stop = limit(step, at);
    if constexpr (kWatched) {
      while (at < stop && has(step.set, at)) ++at;
    } else {
      const ByteSet& set = program_.sets_[step.set];
      while (at < stop && set.has(text_[at])) ++at;
    }
    budget_ -= (at - begin) / 8;
    note_counted(number, begin, at);
    if (at - begin < step.least) return false;
    if (step.op == Op::run) return true;
    return give_back(step, number, at, begin + step.least);
  }

  // From `at` back to `bound`: the first place where what follows can begin.
  bool give_back(const Backtracker::Step& step, std::uint32_t number, std::int32_t& at,
                 std::int32_t bound) {
    const std::int32_t begin = at;
    note_middle(number, at);
    while (at >= bound && !follows(step, at)) note_middle(number, --at);
    budget_ -= (begin - at) / 4;
    if (at < bound) return false;
    if (at == bound) note_middle(number, at - 1);
    if (at > bound) stack_.push_back({Entry::Kind::give_back, number, at - 1, bound});
    return true;
  }

  bool follows(const Backtracker::Step& step, std::int32_t at) const {
    return step.may_end || (at < size_ && has(step.follow, at));
  }

  bool run_lazy(const Backtracker::Step& step, std::uint32_t number, std::int32_t& at) {
    const std::int32_t begin = at, stop = limit(step, at);
    while (at - begin < step.least) {
      if (at >= stop || !has(step.set, at)) {
        note_counted(number, begin, at);
        return false;
      }
      note_middle(number, at);
      ++at;
    }
    note_counted(number, begin, at);
    return take_more(step, number, at, stop);
  }

  bool take_more(const Backtracker::Step& step, std::uint32_t number, std::int32_t& at,
                 std::int32_t stop) {
    const std::int32_t begin = at;
    note_middle(number, at);
    while (!follows(step, at)) {
      if (at >= stop || !has(step.set, at)) {
        note_counted(number, begin, at);
        return false;
      }
      note_middle(number, ++at);
    }
    note_counted(number, begin, at);
    budget_ -= (at - begin) / 4;
    if (at < stop && has(step.set, at)) {
      stack_.push_back({Entry::Kind::take_more, number, at + 1, stop});
    }
    return true;
  }

  // Takes the first branch that can begin here, and keeps the next such one for later.
  bool choose(const Backtracker::Step& step, std::uint32_t& number, std::int32_t at) {
    return choose_from(step, step.index, number, at);
  }
  bool choose_from(const Backtracker::Step& step, std::uint32_t from, std::uint32_t& number,
                   std::int32_t at) {
    const std::uint32_t end = step.index + step.count;
    const std::uint32_t taken = viable(from, end, at);
    if (taken == end) return false;
    const std::uint32_t other = viable(taken + 1, end, at);
    if (other != end) {
      stack_.push_back({Entry::Kind::resume, number, at, static_cast<std::int32_t>(other)});
    }
    number = program_.branches_[taken].step;
    return true;
  }
  std::uint32_t viable(std::uint32_t from, std::uint32_t end, std::int32_t at) const {
    for (; from < end; ++from) {
      const Backtracker::Branch& branch = program_.branches_[from];
      if (branch.may_be_empty || (at < size_ && has(branch.first, at))) break;
    }
    return from;
  }

  // Undoes what was done since the last open choice and takes its next way; false: none is left.
  bool back(std::uint32_t& number, std::int32_t& at) {
    while (!stack_.empty()) {
      const Entry entry = stack_.back();
      stack_.pop_back();
      if (--budget_ < 0) return true;  // go() says that it is over
      switch (entry.kind) {
        case Entry::Kind::place: places_[entry.step] = entry.at; continue;
        case Entry::Kind::resume: {
          number = entry.step;
          at = entry.at;
          if (choose_from(program_.steps_[number], static_cast<std::uint32_t>(entry.bound), number,
                          at)) {
            return true;
          }
          continue;
        }
        case Entry::Kind::give_back: {
          at = entry.at;
          if (!give_back(program_.steps_[entry.step], entry.step, at, entry.bound)) continue;
          number = entry.step + 1;
          return true;
        }
        case Entry::Kind::take_more: {
          at = entry.at;
          note_counted(entry.step, at - 1, at);  // the byte that brought it here
          if (!take_more(program_.steps_[entry.step], entry.step, at, entry.bound)) continue;
          number = entry.step + 1;
          return true;
        }
      }
    }
    return false;
  }

  const Backtracker& program_;
  const unsigned char* text_;
  std::int32_t size_;
  std::vector<std::int32_t>& places_;
  std::vector<Entry>& stack_;
  DigitWatch* watch_;
  std::int64_t budget_;
};

Backtracker::Outcome Backtracker::search(std::string_view text, std::size_t from,
                                         std::vector<std::int32_t>& places) const {
  if (text.size() > (1u << 30) || from > text.size()) return Outcome::gave_up;
  return BacktrackRun<false>(*this, text, places, nullptr).search(from);
}

Backtracker::Outcome Backtracker::search(std::string_view text, std::size_t from,
                                         std::vector<std::int32_t>& places,
                                         DigitWatch& watch) const {
  if (text.size() > (1u << 30) || from > text.size()) return Outcome::gave_up;
  return BacktrackRun<true>(*this, text, places, &watch).search(from);
}

}  // namespace logarithm
