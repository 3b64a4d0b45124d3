#include "common/rules/candidates.h"

#include <algorithm>
#include <array>
#include <atomic>

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

// Remembers per template what find() found; a fixed size, the newest wins. One a thread, since a
// set is shared by threads and this is what makes a line cheap.
class TemplateMemory {
 public:
  struct Entry {
    std::uint64_t set = 0;
    TemplateId id = 0;
    std::uint16_t count = 0;
    std::array<std::uint16_t, 7> rules{};
  };
  Entry& at(std::uint64_t set, TemplateId id) {
    return entries_[(id ^ (id >> 32) ^ set * 0x9E3779B97F4A7C15u) % kEntries];
  }

 private:
  static constexpr std::size_t kEntries = 4096;  // 128 KiB
  std::vector<Entry> entries_{kEntries};
};

}  // namespace

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
  for (std::uint16_t i = 0; i < rules.size(); ++i) {
    if (!wanted[i]) continue;
    const Rule& rule = rules[i];
    const Regex* first = rule.redact  ? &*rule.redact
                         : rule.match ? &*rule.match
                         : rule.each  ? &*rule.each
                                      : nullptr;
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

const std::vector<std::uint16_t>& Candidates::find(std::string_view body, const MaskedBody& masked,
                                                   TemplateId id) const {
  if (masked.holds_text) return find(body);
  thread_local TemplateMemory memory;
  thread_local std::vector<std::uint16_t> known;
  TemplateMemory::Entry& entry = memory.at(number_, id);
  if (entry.set == number_ && entry.id == id) {
    known.assign(entry.rules.begin(), entry.rules.begin() + entry.count);
    return known;
  }
  const auto& found = scan(in_masked_, masked.text, masked_always_, rules_);
  if (found.size() <= entry.rules.size()) {
    entry.set = number_;
    entry.id = id;
    entry.count = static_cast<std::uint16_t>(found.size());
    std::copy(found.begin(), found.end(), entry.rules.begin());
  }
  return found;
}

}  // namespace logarithm
