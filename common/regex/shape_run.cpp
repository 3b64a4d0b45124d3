#include "common/regex/backtracker.h"

namespace logarithm {

// All ways through a pattern at once, over a text with holes. Where it cannot know (word
// boundaries, counts of repetitions) it goes on as if all were well.
class ShapeRun {
 public:
  explicit ShapeRun(const Backtracker& program) : program_(program) {
    for (const auto& step : program.steps_) {
      base_.push_back(size_);
      size_ += step.op == Op::text ? program.texts_[step.index].size() : 1;
    }
    for (std::uint32_t i = 0; i < base_.size(); ++i) {
      const std::size_t end = i + 1 < base_.size() ? base_[i + 1] : size_;
      for (std::size_t k = base_[i]; k < end; ++k) step_of_.push_back(i);
    }
  }

  bool run(std::string_view shape, char hole, const ByteSet& fill) {
    States now(size_);
    at_start_ = true;
    at_end_ = shape.empty();
    add(now, 0, 0);
    for (std::size_t i = 0; i < shape.size() && !matched_; ++i) {
      States next(size_);
      at_start_ = false;
      at_end_ = i + 1 == shape.size();
      if (shape[i] == hole) {
        // Nothing, or any number of bytes: until no new state is reached.
        for (const std::uint32_t state : now.list) add(next, step_of_[state], offset_of(state));
        for (std::size_t k = 0; k < next.list.size(); ++k) advance(next.list[k], fill, next);
      } else {
        ByteSet one;
        one.add(static_cast<unsigned char>(shape[i]));
        for (const std::uint32_t state : now.list) advance(state, one, next);
      }
      if (!program_.anchored_) add(next, 0, 0);
      now = std::move(next);
    }
    return matched_;
  }

 private:
  using Op = Backtracker::Op;
  struct States {
    explicit States(std::size_t size) : known(size, false) {}
    std::vector<bool> known;
    std::vector<std::uint32_t> list;
  };

  std::size_t offset_of(std::uint32_t state) const { return state - base_[step_of_[state]]; }

  // Adds where one can be without reading a byte.
  void add(States& states, std::uint32_t number, std::size_t offset) {
    const auto state = static_cast<std::uint32_t>(base_[number] + offset);
    if (states.known[state]) return;
    states.known[state] = true;
    states.list.push_back(state);
    const auto& step = program_.steps_[number];
    switch (step.op) {
      case Op::match: matched_ = true; return;
      case Op::jump: return add(states, step.index, 0);
      case Op::choice:
        for (std::uint32_t i = 0; i < step.count; ++i) {
          add(states, program_.branches_[step.index + i].step, 0);
        }
        return;
      case Op::begin_text:
        if (at_start_) add(states, number + 1, 0);
        return;
      case Op::end_text:
        if (at_end_) add(states, number + 1, 0);
        return;
      case Op::save:
      case Op::word_boundary:
      case Op::no_word_boundary: return add(states, number + 1, 0);
      case Op::run:
      case Op::run_back:
      case Op::run_lazy:
        if (step.least == 0) add(states, number + 1, 0);
        return;
      case Op::byte:
      case Op::text: return;
    }
  }

  void advance(std::uint32_t state, const ByteSet& bytes, States& next) {
    const std::uint32_t number = step_of_[state];
    const auto& step = program_.steps_[number];
    if (step.op == Op::text) {
      const std::string& text = program_.texts_[step.index];
      const std::size_t offset = offset_of(state);
      if (!bytes.has(static_cast<unsigned char>(text[offset]))) return;
      if (offset + 1 < text.size()) {
        add(next, number, offset + 1);
      } else {
        add(next, number + 1, 0);
      }
      return;
    }
    const bool reads = step.op == Op::byte || step.op == Op::run || step.op == Op::run_back ||
                       step.op == Op::run_lazy;
    if (!reads || !program_.sets_[step.set].meets(bytes)) return;
    if (step.op != Op::byte) add(next, number, 0);
    add(next, number + 1, 0);
  }

  const Backtracker& program_;
  std::vector<std::size_t> base_;       // by step: its first state
  std::vector<std::uint32_t> step_of_;  // by state
  std::size_t size_ = 0;
  bool at_start_ = false, at_end_ = false, matched_ = false;
};

bool Backtracker::may_match(std::string_view shape, char hole, const ByteSet& fill) const {
  return ShapeRun(*this).run(shape, hole, fill);
}

}  // namespace logarithm
