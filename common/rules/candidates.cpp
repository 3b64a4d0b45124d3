#include "common/rules/candidates.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>

namespace logarithm {
namespace {

constexpr std::size_t kShortest = 2;  // a shorter part of a literal is in nearly every line

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// True when letters can never be part of a masked number, whatever letters stand around them.
bool plain_letters(std::string_view letters) {
  std::string lower;
  for (char c : letters) lower.push_back(static_cast<char>(c | 0x20));
  for (std::string_view word : {"nan", "infinity"}) {
    if (word.find(lower) != std::string_view::npos) return false;
  }
  if (lower == "x") return false;  // 0x
  return std::any_of(lower.begin(), lower.end(), [](char c) { return c > 'f'; });
}

}  // namespace

// What is known of a template, for lines with or without text in their slots.
struct Candidates::Memory {
  static constexpr std::size_t kRules = 256;  // rules past this are always possible
  // Templates that come less often are not worth the look at all patterns.
  static constexpr std::uint32_t kWorthIt = 16;

  std::uint64_t set = 0, key = 0;
  std::uint32_t seen = 0;  // lines, up to kWorthIt; from there on the rules below are known
  std::array<std::uint64_t, kRules / 64> checked{}, possible{};
};

std::string unmasked_part(std::string_view literal) {
  // Cut where a mask could begin or end; of what is left the longest piece counts.
  std::string best, piece;
  auto flush = [&] {
    if (piece.size() > best.size()) best = piece;
    piece.clear();
  };
  for (std::size_t i = 0; i < literal.size();) {
    const char c = literal[i];
    if (is_letter(c)) {
      std::size_t end = i;
      while (end < literal.size() && is_letter(literal[end])) ++end;
      const std::string_view letters = literal.substr(i, end - i);
      if (plain_letters(letters)) {
        piece += letters;
      } else {
        flush();
      }
      i = end;
      continue;
    }
    ++i;
    const char next = i < literal.size() ? literal[i] : '0';
    const bool sign =
        (c == '-' || c == '+') && (is_digit(next) || (next | 0x20) == 'n' || (next | 0x20) == 'i');
    // A dot between digits; control bytes are masked themselves.
    const bool dot = c == '.' && is_digit(next);
    if (is_digit(c) || sign || dot || (c >= 0 && c <= 2)) {
      flush();
    } else {
      piece.push_back(c);
    }
  }
  flush();
  return best;
}

void Candidates::build(const std::vector<Rule>& rules, const std::vector<bool>& wanted) {
  static std::atomic<std::uint64_t> numbers{0};
  number_ = ++numbers;
  rules_ = rules.size();
  patterns_.assign(rules_, std::nullopt);
  for (std::uint16_t i = 0; i < rules.size(); ++i) {
    if (!wanted[i]) continue;
    const Rule& rule = rules[i];
    const Regex* first = rule.redact  ? &*rule.redact
                         : rule.match ? &*rule.match
                         : rule.each  ? &*rule.each
                                      : nullptr;
    if (first != nullptr) patterns_[i] = *first;
    const std::vector<std::string> literals =
        first == nullptr ? std::vector<std::string>{} : first->required_any();
    if (literals.empty()) always_.push_back(i);
    bool seen_masked = !literals.empty();
    for (const std::string& literal : literals) {
      in_body_.add(literal, i);
      seen_masked = seen_masked && unmasked_part(literal).size() >= kShortest;
    }
    if (!seen_masked) {
      masked_always_.push_back(i);
      continue;
    }
    for (const std::string& literal : literals) in_masked_.add(unmasked_part(literal), i);
  }
  in_body_.build();
  in_masked_.build();
}

namespace {

const std::vector<std::uint16_t>& scan(const LiteralScanner& scanner, std::string_view text,
                                       const std::vector<std::uint16_t>& always,
                                       std::size_t rules) {
  thread_local std::vector<std::uint8_t> found;
  thread_local std::vector<std::uint16_t> hits;
  if (found.size() < rules) found.resize(rules);
  hits.assign(always.begin(), always.end());
  const std::size_t known = hits.size();
  scanner.scan(text, found, hits);
  for (std::size_t i = known; i < hits.size(); ++i) found[hits[i]] = 0;
  if (hits.size() > known) std::sort(hits.begin(), hits.end());
  return hits;
}

}  // namespace

const std::vector<std::uint16_t>& Candidates::find(std::string_view text) const {
  return scan(in_body_, text, always_, rules_);
}

// The literals' parts that the mask leaves alone have no digits.
const std::vector<std::uint16_t>& Candidates::find_shape(std::string_view text) const {
  return scan(in_masked_, text, masked_always_, rules_);
}

// Whether `rule` could match any line of this shape; asked once per template and rule.
bool Candidates::could_match(Memory& memory, std::uint16_t rule, const MaskedBody& masked) const {
  if (rule >= Memory::kRules) return true;
  const std::uint64_t bit = std::uint64_t{1} << (rule % 64);
  if ((memory.checked[rule / 64] & bit) == 0) {
    memory.checked[rule / 64] |= bit;
    const auto fill = masked.holds_text ? Regex::Fill::anything : Regex::Fill::numbers;
    if (!patterns_[rule] || patterns_[rule]->may_match_shape(masked.text, kSlot, fill)) {
      memory.possible[rule / 64] |= bit;
    }
  }
  return (memory.possible[rule / 64] & bit) != 0;
}

const std::vector<std::uint16_t>& Candidates::find(std::string_view body, const MaskedBody& masked,
                                                   TemplateId id) const {
  // One memory a thread, of a fixed size where the newest wins: sets are shared by threads, and
  // this is what makes a line cheap.
  constexpr std::size_t kEntries = 4096;
  constexpr std::size_t kLongestShape = 1024;
  thread_local std::vector<Memory> memories(kEntries);
  thread_local std::vector<std::uint16_t> left;
  const std::uint64_t key = masked.holds_text ? ~id : id;
  Memory& memory = memories[(key ^ (key >> 32) ^ number_ * 0x9E3779B97F4A7C15u) % kEntries];
  const bool known = memory.set == number_ && memory.key == key;

  if (known && memory.seen >= Memory::kWorthIt && !masked.holds_text) {
    left.clear();
    for (std::size_t word = 0; word < memory.possible.size(); ++word) {
      for (std::uint64_t bits = memory.possible[word]; bits != 0; bits &= bits - 1) {
        left.push_back(
            static_cast<std::uint16_t>(word * 64 + static_cast<unsigned>(std::countr_zero(bits))));
      }
    }
    return left;
  }
  const auto& found = masked.holds_text ? scan(in_body_, body, always_, rules_)
                                        : scan(in_masked_, masked.text, masked_always_, rules_);
  if (!known) {
    memory = Memory();
    memory.set = number_;
    memory.key = key;
  }
  if (memory.seen < Memory::kWorthIt) ++memory.seen;
  if (memory.seen < Memory::kWorthIt || rules_ > Memory::kRules ||
      masked.text.size() > kLongestShape) {
    memory.seen = std::min(memory.seen, Memory::kWorthIt - 1);
    return found;
  }
  left.clear();
  for (const std::uint16_t rule : found) {
    if (could_match(memory, rule, masked)) left.push_back(rule);
  }
  return left;
}

}  // namespace logarithm
