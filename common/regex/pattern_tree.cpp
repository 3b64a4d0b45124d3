#include "common/regex/pattern_tree.h"

#include <string>

namespace logarithm {
namespace {

constexpr int kMaxDepth = 100;
constexpr int kMaxCount = 1000;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

ByteSet word_bytes() {
  ByteSet set;
  set.add_range('0', '9');
  set.add_range('a', 'z');
  set.add_range('A', 'Z');
  set.add('_');
  return set;
}

// \d \w \s and their complements.
std::optional<ByteSet> perl_class(char letter) {
  ByteSet set;
  switch (letter) {
    case 'd':
    case 'D': set.add_range('0', '9'); break;
    case 'w':
    case 'W': set = word_bytes(); break;
    case 's':
    case 'S':
      for (char c : {' ', '\t', '\n', '\f', '\r'}) set.add(static_cast<unsigned char>(c));
      break;
    default: return std::nullopt;
  }
  if (letter >= 'A' && letter <= 'Z') set.flip();
  return set;
}

PatternNode leaf(PatternNode::Kind kind) {
  PatternNode node;
  node.kind = kind;
  return node;
}

class TreeParser {
 public:
  TreeParser(std::string_view pattern, bool fold) : p_(pattern), fold_(fold) {}

  std::optional<PatternNode> run() {
    PatternNode node = alternation(0);
    if (failed_ || at_ != p_.size()) return std::nullopt;
    return node;
  }

 private:
  bool done() const { return at_ >= p_.size(); }
  char peek() const { return done() ? '\0' : p_[at_]; }
  bool take(std::string_view what) {
    if (!p_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  PatternNode fail() {
    failed_ = true;
    return {};
  }

  PatternNode alternation(int depth) {
    if (depth > kMaxDepth) return fail();
    std::vector<PatternNode> branches;
    branches.push_back(sequence(depth));
    while (!failed_ && take("|")) branches.push_back(sequence(depth));
    if (branches.size() == 1) return std::move(branches.front());
    PatternNode node = leaf(PatternNode::Kind::alternation);
    node.children = std::move(branches);
    return node;
  }

  PatternNode sequence(int depth) {
    PatternNode node = leaf(PatternNode::Kind::sequence);
    while (!failed_ && !done() && peek() != '|' && peek() != ')') {
      node.children.push_back(repeated(depth));
    }
    return node;
  }

  PatternNode repeated(int depth) {
    PatternNode node = atom(depth);
    bool repeated_already = false;
    while (!failed_ && !done()) {
      int least = 0, most = -1;
      if (take("*")) {
      } else if (take("+")) {
        least = 1;
      } else if (take("?")) {
        most = 1;
      } else if (peek() != '{' || !counted(least, most)) {
        break;
      }
      if (failed_ || repeated_already) return fail();  // `a**`, `a{2}{3}`: rare, and RE2's to know
      repeated_already = true;
      PatternNode outer = leaf(PatternNode::Kind::repeat);
      outer.least = least;
      outer.most = most;
      outer.greedy = !take("?");
      outer.children.push_back(std::move(node));
      node = std::move(outer);
    }
    return node;
  }

  bool number(std::size_t& i, int& value) const {
    const std::size_t begin = i;
    value = 0;
    while (i < p_.size() && is_digit(p_[i]) && value <= kMaxCount) {
      value = value * 10 + (p_[i++] - '0');
    }
    return i > begin;
  }

  bool counted(int& least, int& most) {
    std::size_t i = at_ + 1;
    if (!number(i, least)) return false;
    most = least;
    if (i < p_.size() && p_[i] == ',') {
      ++i;
      if (!number(i, most)) most = -1;
    }
    if (i >= p_.size() || p_[i] != '}') return false;
    at_ = i + 1;
    if (least > kMaxCount || most > kMaxCount) failed_ = true;
    return true;
  }

  PatternNode one_of(ByteSet set) const {
    PatternNode node = leaf(PatternNode::Kind::bytes);
    node.set = set;
    return node;
  }
  void add_byte(ByteSet& set, char c) const {
    set.add(static_cast<unsigned char>(c));
    if (fold_ && is_letter(c)) set.add(static_cast<unsigned char>(c ^ 0x20));
  }
  PatternNode literal(char c) const {
    ByteSet set;
    add_byte(set, c);
    return one_of(set);
  }

  PatternNode atom(int depth) {
    const char c = p_[at_];
    if (c < 0) return fail();
    switch (c) {
      case '(': return group(depth);
      case '[': return byte_class();
      case '\\': return escape();
      case '^': return ++at_, leaf(PatternNode::Kind::begin_text);
      case '$': return ++at_, leaf(PatternNode::Kind::end_text);
      case '*':
      case '+':
      case '?': return fail();
      case '.': {
        ++at_;
        ByteSet set;
        if (!dot_newline_) set.add('\n');
        set.flip();
        return one_of(set);
      }
      default: return ++at_, literal(c);
    }
  }

  PatternNode group(int depth) {
    const bool fold = fold_, dot = dot_newline_;
    ++at_;
    bool captures = true;
    if (take("?P<")) {
      const std::size_t end = p_.find('>', at_);
      if (end == std::string_view::npos) return fail();
      at_ = end + 1;
    } else if (take("?")) {
      captures = false;
      bool on = true;
      while (!done() && peek() != ':' && peek() != ')') {
        const char flag = p_[at_++];
        if (flag == '-') {
          on = false;
        } else if (flag == 'i') {
          fold_ = on;
        } else if (flag == 's') {
          dot_newline_ = on;
        } else {
          return fail();
        }
      }
      if (done()) return fail();
      if (p_[at_++] == ')') return leaf(PatternNode::Kind::empty);  // holds on in this group
    }
    const int number = captures ? ++groups_ : 0;
    PatternNode inner = alternation(depth + 1);
    if (failed_ || !take(")")) return fail();
    fold_ = fold;
    dot_newline_ = dot;
    if (!captures) return inner;
    PatternNode node = leaf(PatternNode::Kind::capture);
    node.group = number;
    node.children.push_back(std::move(inner));
    return node;
  }

  // One byte written in a class or as an escape; nullopt: not a single byte.
  std::optional<char> escaped_byte() {
    if (at_ + 1 >= p_.size()) return std::nullopt;
    const char c = p_[at_ + 1];
    std::optional<char> byte;
    switch (c) {
      case 'n': byte = '\n'; break;
      case 't': byte = '\t'; break;
      case 'r': byte = '\r'; break;
      case 'f': byte = '\f'; break;
      case 'v': byte = '\v'; break;
      case 'a': byte = '\a'; break;
      case 'x': return hex_byte();
      default:
        if (c < 0 || is_letter(c) || is_digit(c)) return std::nullopt;
        byte = c;
    }
    at_ += 2;
    return byte;
  }

  std::optional<char> hex_byte() {
    int value = 0;
    for (std::size_t i = at_ + 2; i < at_ + 4; ++i) {
      const char c = i < p_.size() ? p_[i] : '\0';
      const char small = static_cast<char>(c | 0x20);
      if (is_digit(c)) {
        value = value * 16 + (c - '0');
      } else if (small >= 'a' && small <= 'f') {
        value = value * 16 + (small - 'a' + 10);
      } else {
        return std::nullopt;
      }
    }
    at_ += 4;
    // A folded byte past ASCII would have another case in Latin-1.
    if (value >= 0x80 && fold_) failed_ = true;
    return static_cast<char>(value);
  }

  PatternNode escape() {
    const char c = at_ + 1 < p_.size() ? p_[at_ + 1] : '\0';
    if (const auto set = perl_class(c)) return at_ += 2, one_of(*set);
    if (c == 'b') return at_ += 2, leaf(PatternNode::Kind::word_boundary);
    if (c == 'B') return at_ += 2, leaf(PatternNode::Kind::no_word_boundary);
    if (c == 'A') return at_ += 2, leaf(PatternNode::Kind::begin_text);
    if (c == 'z') return at_ += 2, leaf(PatternNode::Kind::end_text);
    const auto byte = escaped_byte();
    return byte ? literal(*byte) : fail();
  }

  PatternNode byte_class() {
    ++at_;
    const bool negated = take("^");
    ByteSet set;
    bool first = true;
    while (!done() && (first || peek() != ']')) {
      first = false;
      if (p_.substr(at_).starts_with("[:")) return fail();
      if (peek() == '\\') {
        if (const auto named = perl_class(at_ + 1 < p_.size() ? p_[at_ + 1] : '\0')) {
          set.add(*named);
          at_ += 2;
          continue;
        }
      }
      const auto from = class_byte();
      if (!from) return fail();
      char to = *from;
      if (peek() == '-' && at_ + 1 < p_.size() && p_[at_ + 1] != ']') {
        ++at_;
        const auto end = class_byte();
        if (!end) return fail();
        to = *end;
      }
      const auto low = static_cast<unsigned char>(*from), high = static_cast<unsigned char>(to);
      if (fold_ && high >= 0x80) return fail();
      for (unsigned c = low; c <= high; ++c) add_byte(set, static_cast<char>(c));
    }
    if (!take("]")) return fail();
    if (negated) set.flip();
    return one_of(set);
  }

  std::optional<char> class_byte() {
    if (done() || peek() < 0) return std::nullopt;
    if (peek() == '\\') return escaped_byte();
    return p_[at_++];
  }

  std::string_view p_;
  bool fold_;
  bool dot_newline_ = false;
  bool failed_ = false;
  int groups_ = 0;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<PatternNode> parse_pattern(std::string_view pattern, bool fold_case) {
  return TreeParser(pattern, fold_case).run();
}

}  // namespace logarithm
