#include "common/regex/required_literals.h"

#include <algorithm>
#include <optional>

namespace logarithm {
namespace {

constexpr int kMaxDepth = 200;
constexpr std::size_t kMaxExact = 256;
constexpr std::size_t kMaxLiterals = 64;
constexpr std::size_t kMaxAny = 48;
constexpr std::size_t kWeighty = 24;  // what is longer is not noticeably rarer

// What is known of a part of the pattern: it matches `exact` and nothing else, or it contains all
// of `required`. Whatever matches contains one of `any`, in some case of its letters; empty when
// nothing is known.
struct Known {
  std::optional<std::string> exact;
  std::vector<std::string> required;
  std::vector<std::string> any;
  bool folded_letter = false;  // it matches the one letter of `any` in either case, nothing else
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::vector<std::string> needs(const Known& known) {
  if (!known.exact) return known.required;
  return known.exact->empty() ? std::vector<std::string>{} : std::vector{*known.exact};
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

// How rare a text is by chance: letters say more than blanks and signs, digits say nothing.
std::size_t weight(std::string_view text) {
  std::size_t sum = 0;
  for (char c : text) sum += is_letter(c) ? 2 : is_digit(c) ? 0 : 1;
  return std::min(sum, kWeighty);
}

std::size_t lightest(const std::vector<std::string>& set) {
  std::size_t least = kWeighty;
  for (const auto& text : set) least = std::min(least, weight(text));
  return least;
}

bool better(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const std::size_t x = lightest(a), y = lightest(b);
  return x != y ? x > y : a.size() < b.size();
}

// Recursive descent over RE2's Perl syntax. RE2 has accepted the pattern, so this only has to be
// careful: what it does not know sets failed_, and the answer is then "nothing".
class Parser {
 public:
  Parser(std::string_view pattern, bool utf8, bool fold) : p_(pattern), utf8_(utf8), fold_(fold) {}

  Known run() {
    Known known = alternation(0);
    if (failed_ || at_ != p_.size()) return {};
    if (known.exact) return {std::nullopt, needs(known), any_of(known)};
    return known;
  }

 private:
  bool done() const { return at_ >= p_.size(); }
  char peek() const { return p_[at_]; }
  bool starts(std::string_view what) const { return p_.substr(at_).starts_with(what); }

  bool operator_follows() const {
    return !done() && std::string_view("*+?{").find(peek()) != std::string_view::npos;
  }

  Known alternation(int depth) {
    Known result = concatenation(depth);
    while (!failed_ && !done() && peek() == '|') {
      ++at_;
      result = either(result, concatenation(depth));
    }
    return result;
  }

  static std::vector<std::string> any_of(const Known& known) {
    if (!known.exact) return known.any;
    return known.exact->empty() ? std::vector<std::string>{} : std::vector{lowered(*known.exact)};
  }

  // What both branches contain: a literal of one that lies inside a literal of the other.
  static Known either(const Known& a, const Known& b) {
    if (a.exact && b.exact && *a.exact == *b.exact) return a;
    Known out;
    out.any = any_of(a);
    const auto more = any_of(b);
    if (out.any.empty() || more.empty() || out.any.size() + more.size() > kMaxAny) {
      out.any.clear();
    } else {
      out.any.insert(out.any.end(), more.begin(), more.end());
    }
    const auto left = needs(a), right = needs(b);
    auto inside = [](const std::string& small, const std::vector<std::string>& all) {
      return std::any_of(all.begin(), all.end(), [&](const std::string& big) {
        return big.find(small) != std::string::npos;
      });
    };
    for (const auto& s : left) {
      if (inside(s, right)) out.required.push_back(s);
    }
    for (const auto& s : right) {
      if (inside(s, left)) out.required.push_back(s);
    }
    return out;
  }

  Known concatenation(int depth) {
    std::vector<std::string> required, any;
    std::string run;
    std::string folded;  // the same run where letters of any case count
    bool exact = true;
    auto offer = [&](std::vector<std::string> set) {
      if (!set.empty() && (any.empty() || better(set, any))) any = std::move(set);
    };
    auto flush = [&] {
      if (!run.empty()) required.push_back(run);
      run.clear();
    };
    auto flush_folded = [&] {
      if (!folded.empty()) offer({folded});
      folded.clear();
    };
    while (!failed_ && !done() && peek() != '|' && peek() != ')') {
      Known part = repeated(depth);
      if (part.exact && run.size() + part.exact->size() <= kMaxExact) {
        run += *part.exact;
        folded += lowered(*part.exact);
        continue;
      }
      exact = false;
      flush();
      if (part.folded_letter && folded.size() < kMaxExact) {
        folded += part.any.front();
      } else {
        flush_folded();
        offer(any_of(part));
      }
      for (auto& s : needs(part)) {
        if (required.size() < kMaxLiterals) required.push_back(std::move(s));
      }
    }
    if (exact) return {run, {}, {}};
    flush();
    flush_folded();
    return {std::nullopt, std::move(required), std::move(any)};
  }

  Known repeated(int depth) {
    Known part = atom(depth);
    while (!failed_ && !done()) {
      std::size_t least = 1;
      if (peek() == '*' || peek() == '?') {
        least = 0;
        ++at_;
      } else if (peek() == '+') {
        ++at_;
      } else if (peek() != '{' || !counted(least)) {
        return part;
      }
      if (!done() && peek() == '?') ++at_;  // lazy: the same language
      part = least == 0 ? Known{} : Known{std::nullopt, needs(part), any_of(part)};
    }
    return part;
  }

  // `{n}`, `{n,}`, `{n,m}`; anything else after '{' is a literal brace.
  bool counted(std::size_t& least) {
    std::size_t i = at_ + 1, digits = i;
    while (i < p_.size() && is_digit(p_[i])) ++i;
    if (i == digits) return false;
    const bool zero =
        p_.substr(digits, i - digits).find_first_not_of('0') == std::string_view::npos;
    if (i < p_.size() && p_[i] == ',') {
      ++i;
      while (i < p_.size() && is_digit(p_[i])) ++i;
    }
    if (i >= p_.size() || p_[i] != '}') return false;
    least = zero ? 0 : 1;
    at_ = i + 1;
    return true;
  }

  Known literal(std::string_view bytes) const {
    // Under (?i) a letter is several texts, and a non-ASCII one may fold to other lengths.
    if (fold_ && bytes[0] < 0) return {};
    if (fold_ && is_letter(bytes[0])) {
      // Over code points, k and s have a third case (U+212A, U+017F).
      if (utf8_) return {};
      return {std::nullopt, {}, {lowered(bytes)}, true};
    }
    return {std::string(bytes), {}, {}};
  }

  Known atom(int depth) {
    const char c = peek();
    if (c == '(') return group(depth);
    if (c == '[') return char_class();
    if (c == '\\') return escape();
    if (c == '.') return ++at_, Known{};
    if (c == '^' || c == '$') return ++at_, Known{"", {}, {}};
    std::size_t length = 1;
    if (utf8_ && c < 0) {
      while (at_ + length < p_.size() && (p_[at_ + length] & 0xC0) == 0x80) ++length;
    }
    const auto bytes = p_.substr(at_, length);
    at_ += length;
    return literal(bytes);
  }

  Known group(int depth) {
    if (depth > kMaxDepth) return fail();
    const bool outer = fold_;
    ++at_;
    if (starts("?P<")) {
      const std::size_t end = p_.find('>', at_);
      if (end == std::string_view::npos) return fail();
      at_ = end + 1;
    } else if (starts("?")) {
      ++at_;
      bool on = true;
      while (!done() && peek() != ':' && peek() != ')') {
        const char flag = p_[at_++];
        if (flag == '-') {
          on = false;
        } else if (flag == 'i') {
          fold_ = on;
        } else if (flag != 'm' && flag != 's' && flag != 'U') {
          return fail();
        }
      }
      if (done()) return fail();
      if (p_[at_++] == ')') {  // `(?i)`: holds to the end of the enclosing group
        // RE2 lets `1(?i)*` repeat the 1.
        return operator_follows() ? fail() : Known{"", {}, {}};
      }
    }
    Known inner = alternation(depth + 1);
    if (failed_ || done() || peek() != ')') return fail();
    ++at_;
    fold_ = outer;
    return inner;
  }

  Known char_class() {
    const std::size_t begin = ++at_;
    if (!done() && peek() == '^') ++at_;
    bool first = true;
    while (!done() && (first || peek() != ']')) {
      first = false;
      if (starts("[:")) {
        const std::size_t end = p_.find(":]", at_ + 2);
        if (end != std::string_view::npos) {
          at_ = end + 2;
          continue;
        }
      }
      at_ += peek() == '\\' ? 2 : 1;
    }
    if (done()) return fail();
    const auto inside = p_.substr(begin, at_ - begin);
    ++at_;
    const bool pair = inside.size() == 2 && is_letter(inside[0]) && is_letter(inside[1]) &&
                      inside[0] != inside[1] && (inside[0] | 0x20) == (inside[1] | 0x20);
    if (pair && !utf8_) return {std::nullopt, {}, {lowered(inside.substr(0, 1))}, true};
    const bool plain = inside.size() == 1 && inside[0] > ' ' && inside[0] != '^';
    return plain ? literal(inside) : Known{};
  }

  Known escape() {
    if (at_ + 1 >= p_.size()) return fail();
    const char c = p_[at_ + 1];
    at_ += 2;
    switch (c) {
      case 'A':
      case 'z':
      case 'b':
      case 'B': return {"", {}, {}};
      case 'd':
      case 'D':
      case 'w':
      case 'W':
      case 's':
      case 'S':
      case 'C': return {};
      case 'n': return literal("\n");
      case 't': return literal("\t");
      case 'r': return literal("\r");
      case 'f': return literal("\f");
      case 'v': return literal("\v");
      case 'a': return literal("\a");
      case 'p':
      case 'P':
        if (!done() && peek() == '{') return skip_braces();
        ++at_;
        return {};
      case 'x':
        if (!done() && peek() == '{') return skip_braces();
        at_ += 2;
        return {};
      case 'Q': return quoted();
      default: break;
    }
    if (is_letter(c) || is_digit(c) || c < 0) return fail();
    return literal(p_.substr(at_ - 1, 1));
  }

  Known skip_braces() {
    const std::size_t end = p_.find('}', at_);
    if (end == std::string_view::npos) return fail();
    at_ = end + 1;
    return {};
  }

  // `\Q...\E`. A repetition after it binds to its last character only, so it is not handled here:
  // quoted text says nothing when an operator follows.
  Known quoted() {
    std::size_t end = p_.find("\\E", at_);
    const std::size_t stop = end == std::string_view::npos ? p_.size() : end;
    const auto text = p_.substr(at_, stop - at_);
    at_ = end == std::string_view::npos ? stop : end + 2;
    if (operator_follows()) return fail();
    const bool folded = fold_ && std::any_of(text.begin(), text.end(),
                                             [](char c) { return is_letter(c) || c < 0; });
    return folded ? Known{} : Known{std::string(text), {}, {}};
  }

  Known fail() {
    failed_ = true;
    return {};
  }

  std::string_view p_;
  bool utf8_;
  bool fold_;
  bool failed_ = false;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::string> required_literals_of(std::string_view pattern, bool utf8, bool fold_case) {
  std::vector<std::string> all = Parser(pattern, utf8, fold_case).run().required;
  std::sort(all.begin(), all.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  std::vector<std::string> out;
  for (auto& s : all) {  // what lies inside a longer one says nothing new
    const bool known = std::any_of(out.begin(), out.end(), [&](const std::string& big) {
      return big.find(s) != std::string::npos;
    });
    if (!known) out.push_back(std::move(s));
  }
  return out;
}

std::vector<std::string> required_any_of(std::string_view pattern, bool utf8, bool fold_case) {
  return Parser(pattern, utf8, fold_case).run().any;
}

}  // namespace logarithm
