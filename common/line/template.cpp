#include "common/line/template.h"

#include <array>
#include <cstring>

#include "common/base/utf8.h"
#include "common/line/hash64.h"
#include "common/line/mask_widths.h"

namespace logarithm {
namespace {

constexpr std::size_t kMaxQuoted = kLongestQuoted;  // a longer one is two stray quotes

// What a byte can be part of.
enum CharClass : unsigned char {
  kDigit = 1,
  kHexLower = 2,
  kHexUpper = 4,
  kOtherLetter = 8,  // that is no hex digit
  kPathEnd = 16,     // whitespace, quotes, brackets, separators, control bytes
  kBeforePath = 32,  // what may stand in front of an absolute path
};
constexpr unsigned kHex = kDigit | kHexLower | kHexUpper;
constexpr unsigned kAlnum = kHex | kOtherLetter;

// What may begin at a byte.
enum class Begins : unsigned char { nothing, word, control, quote, sign, path };

struct CharTables {
  std::array<unsigned char, 256> classes{};
  std::array<Begins, 256> begins{};
};

constexpr CharTables make_tables() {
  CharTables table;
  for (unsigned c = 0; c < 256; ++c) {
    unsigned bits = 0;
    if (c >= '0' && c <= '9') bits |= kDigit;
    if (c >= 'a' && c <= 'z') bits |= c <= 'f' ? kHexLower : kOtherLetter;
    if (c >= 'A' && c <= 'Z') bits |= c <= 'F' ? kHexUpper : kOtherLetter;
    if (bits != 0) table.begins[c] = Begins::word;
    if (c <= ' ') bits |= kPathEnd;
    if (c <= 2) table.begins[c] = Begins::control;
    table.classes[c] = static_cast<unsigned char>(bits);
  }
  for (char c : {'"', '\'', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '|', '`'}) {
    table.classes[static_cast<unsigned char>(c)] |= kPathEnd;
  }
  for (char c : {' ', '\t', '"', '\'', '(', '[', '{', '<', '>', '=', ',', ':', ';', '|', '`'}) {
    table.classes[static_cast<unsigned char>(c)] |= kBeforePath;
  }
  for (char c : {'"', '\''}) table.begins[static_cast<unsigned char>(c)] = Begins::quote;
  for (char c : {'-', '+'}) table.begins[static_cast<unsigned char>(c)] = Begins::sign;
  for (char c : {'/', '~', '.'}) table.begins[static_cast<unsigned char>(c)] = Begins::path;
  return table;
}
constexpr CharTables kTables = make_tables();

unsigned classes_of(char c) { return kTables.classes[static_cast<unsigned char>(c)]; }
bool is(char c, unsigned bits) { return (classes_of(c) & bits) != 0; }
bool is_alnum(char c) { return is(c, kAlnum); }
bool is_word(char c) { return is_alnum(c) || c == '_'; }
bool is_hex(char c) { return is(c, kHex); }

// One pass over a body. Every decision looks a bounded way ahead, or consumes what it looked at.
class Masker {
 public:
  Masker(std::string_view body, MaskedBody& out, bool spans,
         std::vector<std::uint32_t>* widths = nullptr)
      : b_(body), out_(out), widths_(widths), spans_(spans) {
    // Every slot is shorter than what it stands for, or as long. Pieces are copied whole blocks.
    out_.text.resize(body.size() + kBlock);
    write_ = out_.text.data();
  }

  void run() {
    const std::size_t size = b_.size();
    while (at_ < size) {
      const char c = b_[at_];
      switch (kTables.begins[static_cast<unsigned char>(c)]) {
        case Begins::nothing: ++at_; break;
        case Begins::word: word(); break;
        case Begins::control: control_bytes(); break;
        case Begins::quote: quote(c); break;
        case Begins::sign: signed_number(); break;
        case Begins::path:
          if (path_begins()) {
            text_slot(at_, path_end(at_));
          } else {
            ++at_;
          }
          break;
      }
    }
    keep(size);
    out_.text.resize(static_cast<std::size_t>(write_ - out_.text.data()));
  }

 private:
  static constexpr std::size_t kBlock = 16;

  char peek(std::size_t i) const { return i < b_.size() ? b_[i] : '\n'; }
  bool after(unsigned bits) const { return at_ == 0 || is(b_[at_ - 1], bits); }

  // The bytes up to `end` are constant text.
  void keep(std::size_t end) {
    const std::size_t length = end - kept_;
    if (length <= kBlock && b_.size() - kept_ >= kBlock) {
      std::memcpy(write_, b_.data() + kept_, kBlock);
    } else {
      std::memcpy(write_, b_.data() + kept_, length);
    }
    write_ += length;
    kept_ = end;
  }

  void slot(std::size_t begin, std::size_t end) {
    keep(begin);
    *write_++ = kSlot;
    if (spans_) {
      out_.variables.push_back(
          {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)});
    }
    at_ = kept_ = end;
  }

  void text_slot(std::size_t begin, std::size_t end) {
    out_.holds_text = true;
    slot(begin, end);
  }

  void control_bytes() {
    std::size_t end = at_ + 1;
    while (end < b_.size() && b_[end] >= 0 && b_[end] <= 2) ++end;
    slot(at_, end);
  }

  // Digits, groups after dots (2.31, 10.0.0.7, 1.13.1), an exponent.
  std::size_t number_end(std::size_t i) const {
    while (is(peek(i), kDigit)) ++i;
    while (peek(i) == '.' && is(peek(i + 1), kDigit)) {
      i += 2;
      while (is(peek(i), kDigit)) ++i;
    }
    if (peek(i) != 'e' && peek(i) != 'E') return i;
    std::size_t exponent = i + 1;
    if (peek(exponent) == '-' || peek(exponent) == '+') ++exponent;
    if (!is(peek(exponent), kDigit)) return i;
    while (is(peek(exponent), kDigit)) ++exponent;
    return is_alnum(peek(exponent)) ? i : exponent;
  }

  // End of `nan`, `inf` or `infinity` as a whole word at `i`, or 0.
  std::size_t not_finite_end(std::size_t i) const {
    if (i > 0 && is_word(b_[i - 1])) return 0;
    for (std::string_view name : {"nan", "infinity", "inf"}) {
      std::size_t k = 0;
      while (k < name.size() && (peek(i + k) | 0x20) == name[k]) ++k;
      if (k == name.size() && !is_word(peek(i + k))) return i + k;
    }
    return 0;
  }

  bool uuid(std::size_t i) const {
    static constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    for (std::size_t k = 0; k < kShape.size(); ++k) {
      const char c = peek(i + k);
      if (kShape[k] == '-' ? c != '-' : !is_hex(c)) return false;
    }
    return !is_alnum(peek(i + kShape.size()));
  }

  // At the first letter or digit of a run of them.
  void word() {
    const std::size_t begin = at_, size = b_.size();
    std::size_t end = begin;
    unsigned seen = classes_of(b_[end++]);
    for (; end < size; ++end) {
      const unsigned classes = classes_of(b_[end]);
      if ((classes & kAlnum) == 0) break;
      seen |= classes;
    }
    const std::size_t length = end - begin;
    const bool hex = (seen & kOtherLetter) == 0;
    if (hex && widths_ != nullptr) note_widths(begin, end);
    if (hex && length == 8 && peek(end) == '-' && uuid(begin)) return slot(begin, begin + 36);
    if (is(b_[begin], kDigit)) {
      if (length > 2 && b_[begin] == '0' && (b_[begin + 1] | 0x20) == 'x' &&
          all_hex(begin + 2, end)) {
        return slot(begin, end);
      }
      const std::size_t number = number_end(begin);
      if (number >= end) return slot(begin, number);
    } else {
      if (peek(end) == ':' && peek(end + 1) == '/' && peek(end + 2) == '/') {
        return text_slot(begin, path_end(begin));
      }
      if (length == 3 || length == 8) {
        const std::size_t value = not_finite_end(begin);
        if (value != 0) return slot(begin, value);
      }
    }
    const bool id = (seen & kDigit) != 0 ? length >= 6 : length >= 8 && (seen & kHexUpper) == 0;
    if (hex && id) return slot(begin, end);
    if ((seen & kDigit) == 0) {
      at_ = end;
      return;
    }
    mixed_word(end);
  }

  // For mask_widths(): of words that are all hex the length decides.
  void note_widths(std::size_t begin, std::size_t end) {
    bool group_follows = false;  // as in a UUID
    if (peek(end) == '-') {
      std::size_t next = end + 1;
      while (is_hex(peek(next))) ++next;
      group_follows = peek(next) == '-';
    }
    if (group_follows && end - begin == 8) return note_digits(0, b_.size());
    const bool number = is(b_[begin], kDigit) && number_end(begin) >= end;
    if (group_follows || !number) note_digits(begin, end);
  }
  void note_digits(std::size_t begin, std::size_t end) {
    for (; begin < end; ++begin) {
      if (is(b_[begin], kDigit)) widths_->push_back(static_cast<std::uint32_t>(begin));
    }
  }

  bool all_hex(std::size_t i, std::size_t end) const {
    while (i < end && is_hex(b_[i])) ++i;
    return i == end;
  }

  // "host003", "12ms", "v1.2.3": only the numbers are variable.
  void mixed_word(std::size_t end) {
    while (at_ < end) {
      if (is(b_[at_], kDigit)) {
        slot(at_, number_end(at_));
      } else {
        ++at_;
      }
    }
  }

  void signed_number() {
    if (at_ == 0 || !is_alnum(b_[at_ - 1])) {
      // A number only when the word is one: "-7f3ade12" is a dash and an id.
      if (is(peek(at_ + 1), kDigit)) {
        const std::size_t end = number_end(at_ + 1);
        if (!is_alnum(peek(end))) return slot(at_, end);
      } else if (const std::size_t end = not_finite_end(at_ + 1); end != 0) {
        return slot(at_, end);
      }
    }
    ++at_;
  }

  // `/a`, `~/`, `./`, `../`.
  bool path_begins() const {
    const char c = b_[at_];
    if (c == '/') {
      return after(kBeforePath) && (is_word(peek(at_ + 1)) || peek(at_ + 1) == '.');
    }
    if (!after(kBeforePath)) return false;
    if (c == '~') return peek(at_ + 1) == '/';
    return peek(at_ + 1) == '/' || (peek(at_ + 1) == '.' && peek(at_ + 2) == '/');
  }

  std::size_t path_end(std::size_t i) const {
    const std::size_t begin = i;
    while (i < b_.size() && !is(b_[i], kPathEnd)) ++i;
    while (i > begin + 1 && (b_[i - 1] == '.' || b_[i - 1] == ':')) --i;
    return i;
  }

  void quote(char kind) {
    const std::size_t close = at_ == key_close_ ? std::string_view::npos : closing_quote(kind);
    if (close == std::string_view::npos) {
      ++at_;
    } else if (peek(close + 1) == ':') {  // a dictionary's key names what follows: it stays
      key_close_ = close;
      ++at_;
    } else {
      text_slot(at_, close + 1);
    }
  }

  std::size_t closing_quote(char kind) const {
    // An apostrophe ("don't", "ranks'") is no quote: real ones stand outside words.
    if (at_ > 0 && is_word(b_[at_ - 1])) return std::string_view::npos;
    const std::size_t stop = std::min(b_.size(), at_ + kMaxQuoted);
    for (std::size_t i = at_ + 1; i < stop; ++i) {
      if (b_[i] == '\\') {
        ++i;
      } else if (b_[i] == kind && (kind == '"' || !is_word(peek(i + 1)))) {
        return i;
      }
    }
    return std::string_view::npos;
  }

  std::string_view b_;
  MaskedBody& out_;
  std::vector<std::uint32_t>* widths_;
  bool spans_;
  std::size_t at_ = 0;
  std::size_t kept_ = 0;   // bytes before this are in the text
  char* write_ = nullptr;  // end of the text
  std::size_t key_close_ = std::string_view::npos;
};

}  // namespace

void mask_body(std::string_view body, MaskedBody& out) {
  out.variables.clear();
  out.holds_text = false;
  Masker(body, out, true).run();
}

void mask_text(std::string_view body, MaskedBody& out) {
  out.variables.clear();
  out.holds_text = false;
  Masker(body, out, false).run();
}

void mask_widths(std::string_view body, std::vector<std::uint32_t>& digits) {
  MaskedBody masked;
  Masker(body, masked, false, &digits).run();
}

TemplateId fingerprint(std::string_view template_text) {
  const std::uint64_t hash = hash64(template_text);
  return hash == 0 ? 1 : hash;
}

TemplateId template_of(std::string_view body) {
  MaskedBody masked;
  mask_text(body, masked);
  return fingerprint(masked.text);
}

std::string display_template(std::string_view template_text) {
  std::string out;
  for (char c : template_text) {
    if (c == kSlot) {
      out += "<*>";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string searchable_template(std::string_view template_text) {
  std::string out;
  for (char c : template_text) {
    if (c == '\0') {
      out += "\xE2\x90\x80";
    } else {
      out.push_back(c);  // kSlot stays: a body never has it, so no word of one matches across it
    }
  }
  return sanitize_utf8(out);
}

}  // namespace logarithm
