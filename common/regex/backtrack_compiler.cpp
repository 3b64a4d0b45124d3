#include <algorithm>
#include <optional>

#include "common/regex/backtracker.h"

namespace logarithm {

// Writes the steps of a pattern from its tree. What may follow a part is known while it is written:
// that decides where a choice needs no way back.
class BacktrackCompiler {
 public:
  explicit BacktrackCompiler(Backtracker& out) : out_(out) {}

  bool run(const PatternNode& tree) {
    Follow end;
    end.empty = end.may_be_empty = true;
    save(0);
    write(tree, end);
    save(1);
    step(Op::match);
    if (failed_) return false;
    const Follow all = before(tree, end);
    out_.first_ = all.first;
    out_.may_be_empty_ = all.may_be_empty;
    out_.anchored_ = begins_at_start(tree);
    find_prefix(tree, out_.prefix_);
    find_behind_prefix();
    for (const ByteSet& set : out_.sets_) out_.tells_digits_.push_back(tells_digits(set) ? 1 : 0);
    out_.first_tells_digits_ = tells_digits(out_.first_);
    return true;
  }

 private:
  using Kind = PatternNode::Kind;
  using Op = Backtracker::Op;
  static constexpr std::size_t kMaxSteps = 4000;
  static constexpr std::size_t kMaxSets = 400;
  static constexpr int kMaxCopies = 16;  // of a group that is repeated a number of times

  // What can come next: its first bytes; whether it may be empty (given what assertions say),
  // whether it then always holds, and whether it looks at what was before.
  struct Follow {
    ByteSet first;
    bool may_be_empty = false;
    bool empty = false;
    bool looks_back = false;
  };

  // What can come when `node` stands before `next`.
  static Follow before(const PatternNode& node, const Follow& next) {
    switch (node.kind) {
      case Kind::empty: return next;
      case Kind::begin_text:
      case Kind::word_boundary:
      case Kind::no_word_boundary: {
        Follow out = next;
        out.empty = false;
        out.looks_back = true;
        return out;
      }
      case Kind::end_text: {
        Follow out;  // no byte can come
        out.may_be_empty = next.may_be_empty;
        return out;
      }
      case Kind::bytes: {
        Follow out;
        out.first = node.set;
        return out;
      }
      case Kind::sequence: {
        Follow out = next;
        for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
          out = before(*child, out);
        }
        return out;
      }
      case Kind::alternation: {
        Follow out;
        for (const PatternNode& child : node.children) merge(out, before(child, next));
        return out;
      }
      case Kind::capture: return before(node.children.front(), next);
      case Kind::repeat: {
        if (node.most == 0) return next;
        Follow out = before(node.children.front(), next);
        if (node.least == 0) merge(out, next);
        return out;
      }
    }
    return next;
  }

  static void merge(Follow& into, const Follow& other) {
    into.first.add(other.first);
    into.may_be_empty = into.may_be_empty || other.may_be_empty;
    into.empty = into.empty || other.empty;
    into.looks_back = into.looks_back || other.looks_back;
  }

  static bool can_be_empty(const PatternNode& node) {
    switch (node.kind) {
      case Kind::bytes: return false;
      case Kind::sequence:
        return std::all_of(node.children.begin(), node.children.end(), can_be_empty);
      case Kind::alternation:
        return std::any_of(node.children.begin(), node.children.end(), can_be_empty);
      case Kind::capture: return can_be_empty(node.children.front());
      case Kind::repeat: return node.least == 0 || can_be_empty(node.children.front());
      default: return true;
    }
  }

  static bool tells_digits(const ByteSet& set) {
    int digits = 0;
    for (unsigned char c = '0'; c <= '9'; ++c) digits += set.has(c) ? 1 : 0;
    return digits != 0 && digits != 10;
  }

  static bool begins_at_start(const PatternNode& node) {
    if (node.kind == Kind::begin_text) return true;
    if (node.kind == Kind::alternation) {
      return std::all_of(node.children.begin(), node.children.end(), begins_at_start);
    }
    if (node.kind == Kind::capture) return begins_at_start(node.children.front());
    return node.kind == Kind::sequence && !node.children.empty() &&
           begins_at_start(node.children.front());
  }

  static std::optional<char> single(const PatternNode& node) {
    if (node.kind != Kind::bytes) return std::nullopt;
    std::optional<char> only;
    for (unsigned c = 0; c < 256; ++c) {
      if (!node.set.has(static_cast<unsigned char>(c))) continue;
      if (only) return std::nullopt;
      only = static_cast<char>(c);
    }
    return only;
  }

  static bool find_prefix(const PatternNode& node, std::string& prefix) {
    if (node.kind == Kind::sequence) {
      return std::all_of(node.children.begin(), node.children.end(),
                         [&](const PatternNode& child) { return find_prefix(child, prefix); });
    }
    if (node.kind == Kind::word_boundary || node.kind == Kind::empty) return true;
    const auto byte = single(node);
    if (byte) prefix.push_back(*byte);
    return byte.has_value();
  }

  // A prefix that all of a text is made of should cost little.
  void find_behind_prefix() {
    const auto& steps = out_.steps_;
    if (steps.size() < 3 || steps[1].op != Op::text ||
        out_.texts_[steps[1].index] != out_.prefix_) {
      return;
    }
    if (steps[2].op == Op::choice) {
      ByteSet any;
      for (std::uint32_t i = 0; i < steps[2].count; ++i) {
        const Backtracker::Branch& branch = out_.branches_[steps[2].index + i];
        if (branch.may_be_empty) return;
        any.add(out_.sets_[branch.first]);
      }
      out_.behind_prefix_ = set_number(any);
      return;
    }
    const bool reads =
        steps[2].op == Op::byte ||
        ((steps[2].op == Op::run || steps[2].op == Op::run_back) && steps[2].least > 0);
    if (reads) out_.behind_prefix_ = steps[2].set;
  }

  std::uint16_t set_number(const ByteSet& set) {
    const auto known = std::find(out_.sets_.begin(), out_.sets_.end(), set);
    const auto number = static_cast<std::uint16_t>(known - out_.sets_.begin());
    if (known == out_.sets_.end()) out_.sets_.push_back(set);
    if (out_.sets_.size() > kMaxSets) failed_ = true;
    return number;
  }

  std::uint32_t here() const { return static_cast<std::uint32_t>(out_.steps_.size()); }
  Backtracker::Step& step(Op op) {
    if (out_.steps_.size() > kMaxSteps) failed_ = true;
    out_.steps_.push_back({});
    out_.steps_.back().op = op;
    return out_.steps_.back();
  }
  void save(std::size_t place) { step(Op::save).index = static_cast<std::uint32_t>(place); }

  void write(const PatternNode& node, const Follow& next) {
    if (failed_) return;
    switch (node.kind) {
      case Kind::empty: return;
      case Kind::begin_text: step(Op::begin_text); return;
      case Kind::end_text: step(Op::end_text); return;
      case Kind::word_boundary: step(Op::word_boundary); return;
      case Kind::no_word_boundary: step(Op::no_word_boundary); return;
      case Kind::bytes: step(Op::byte).set = set_number(node.set); return;
      case Kind::sequence: return sequence(node, next);
      case Kind::alternation: return alternation(node, next);
      case Kind::capture:
        save(2 * static_cast<std::size_t>(node.group));
        write(node.children.front(), next);
        save(2 * static_cast<std::size_t>(node.group) + 1);
        return;
      case Kind::repeat: return repeat(node, next);
    }
  }

  void sequence(const PatternNode& node, const Follow& next) {
    std::vector<Follow> follows(node.children.size() + 1);
    follows.back() = next;
    for (std::size_t i = node.children.size(); i-- > 0;) {
      follows[i] = before(node.children[i], follows[i + 1]);
    }
    for (std::size_t i = 0; i < node.children.size();) {
      std::string text;
      std::size_t end = i;
      for (; end < node.children.size(); ++end) {
        const auto byte = single(node.children[end]);
        if (!byte) break;
        text.push_back(*byte);
      }
      if (text.size() > 1) {
        step(Op::text).index = static_cast<std::uint32_t>(out_.texts_.size());
        out_.texts_.push_back(std::move(text));
        i = end;
      } else {
        write(node.children[i], follows[i + 1]);
        ++i;
      }
    }
  }

  // Writes a choice; the branches' steps are filled in by the caller.
  std::uint32_t choice(const std::vector<Follow>& ways) {
    Backtracker::Step& made = step(Op::choice);
    made.index = static_cast<std::uint32_t>(out_.branches_.size());
    made.count = static_cast<std::uint32_t>(ways.size());
    const std::uint32_t first = made.index;
    for (const Follow& way : ways) {
      out_.branches_.push_back({0, set_number(way.first), way.may_be_empty});
    }
    return first;
  }

  void alternation(const PatternNode& node, const Follow& next) {
    std::vector<Follow> ways;
    for (const PatternNode& child : node.children) ways.push_back(before(child, next));
    const std::uint32_t first = choice(ways);
    std::vector<std::uint32_t> jumps;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      out_.branches_[first + i].step = here();
      write(node.children[i], next);
      jumps.push_back(here());
      step(Op::jump);
    }
    for (const std::uint32_t jump : jumps) out_.steps_[jump].index = here();
  }

  void repeat(const PatternNode& node, const Follow& next) {
    const PatternNode& child = node.children.front();
    if (child.kind == Kind::bytes) return run_of(node, next);
    if (can_be_empty(child)) {
      failed_ = true;  // rounds that match nothing: RE2 knows what they mean
      return;
    }
    Follow again = before(child, next);
    merge(again, next);
    const int copies = node.most < 0 ? std::max(node.least, 1) : node.most;
    if (copies > kMaxCopies) {
      failed_ = true;
      return;
    }
    // After the copies that must come there is no way out yet.
    const Follow must = before(child, again);
    for (int i = 0; i < node.least; ++i) {
      const bool last = i + 1 == node.least;
      write(child, !last ? must : node.most == node.least ? next : again);
    }
    if (node.most < 0) {
      // L: choice(child, out); child; jump L; out:
      const std::uint32_t loop = here();
      const auto [inside, outside] = two_ways(node.greedy, before(child, again), next);
      out_.branches_[inside].step = here();
      write(child, again);
      step(Op::jump).index = loop;
      out_.branches_[outside].step = here();
      return;
    }
    std::vector<std::uint32_t> exits;
    for (int i = node.least; i < node.most; ++i) {
      const auto [inside, outside] = two_ways(node.greedy, before(child, again), next);
      out_.branches_[inside].step = here();
      exits.push_back(outside);
      write(child, i + 1 < node.most ? again : next);
    }
    for (const std::uint32_t exit : exits) out_.branches_[exit].step = here();
  }

  std::pair<std::uint32_t, std::uint32_t> two_ways(bool greedy, const Follow& in,
                                                   const Follow& out) {
    const std::uint32_t first = greedy ? choice({in, out}) : choice({out, in});
    return greedy ? std::pair{first, first + 1} : std::pair{first + 1, first};
  }

  void run_of(const PatternNode& node, const Follow& next) {
    const ByteSet& set = node.children.front().set;
    const bool alone = next.empty || (!set.meets(next.first) && !next.looks_back);
    Backtracker::Step made;
    made.op = !node.greedy ? Op::run_lazy : alone ? Op::run : Op::run_back;
    made.set = set_number(set);
    made.follow = set_number(next.first);
    made.may_end = next.may_be_empty;
    made.least = node.least;
    made.most = node.most;
    step(made.op) = made;
  }

  Backtracker& out_;
  bool failed_ = false;
};

std::unique_ptr<const Backtracker> Backtracker::compile(std::string_view pattern, bool fold_case,
                                                        std::size_t groups) {
  const auto tree = parse_pattern(pattern, fold_case);
  if (!tree) return nullptr;
  auto made = std::make_unique<Backtracker>();
  made->groups_ = groups;
  if (!BacktrackCompiler(*made).run(*tree)) return nullptr;
  return made;
}

}  // namespace logarithm
