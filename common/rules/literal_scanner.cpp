#include "common/rules/literal_scanner.h"

#include <deque>
#include <utility>

namespace logarithm {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

}  // namespace

void LiteralScanner::add(std::string_view literal, std::uint32_t owner) {
  Literal added{std::string(literal), owner};
  for (char& c : added.text) c = lower(c);
  literals_.push_back(std::move(added));
}

void LiteralScanner::build() {
  class_of_.fill(0);
  width_ = 1;
  for (const Literal& literal : literals_) {
    for (char c : literal.text) {
      auto& number = class_of_[static_cast<unsigned char>(c)];
      // The 256th different byte keeps class 0, which then no other byte has.
      if (number == 0 && width_ < 256) number = static_cast<std::uint8_t>(width_++);
    }
  }

  for (char c = 'A'; c <= 'Z'; ++c) {
    class_of_[static_cast<unsigned char>(c)] = class_of_[static_cast<unsigned char>(lower(c))];
  }

  constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  std::vector<std::vector<std::uint32_t>> trie{std::vector<std::uint32_t>(width_, kNone)};
  std::vector<std::vector<std::uint32_t>> owners(1);
  for (const Literal& literal : literals_) {
    std::uint32_t state = 0;
    for (char c : literal.text) {
      const std::uint8_t number = class_of_[static_cast<unsigned char>(c)];
      if (trie[state][number] == kNone) {
        trie[state][number] = static_cast<std::uint32_t>(trie.size());
        trie.emplace_back(width_, kNone);
        owners.emplace_back();
      }
      state = trie[state][number];
    }
    owners[state].push_back(literal.owner);
  }

  // Breadth first: missing edges become those of the longest proper suffix.
  std::vector<std::uint32_t> fallback(trie.size(), 0);
  std::deque<std::uint32_t> queue{0};
  while (!queue.empty()) {
    const std::uint32_t state = queue.front();
    queue.pop_front();
    const auto& suffix_owners = owners[fallback[state]];
    if (state != 0) {
      owners[state].insert(owners[state].end(), suffix_owners.begin(), suffix_owners.end());
    }
    for (std::uint32_t number = 0; number < width_; ++number) {
      const std::uint32_t down = state == 0 ? 0 : trie[fallback[state]][number];
      if (trie[state][number] == kNone) {
        trie[state][number] = down;
      } else {
        fallback[trie[state][number]] = down;
        queue.push_back(trie[state][number]);
      }
    }
  }

  std::vector<std::string> texts;
  for (const Literal& literal : literals_) texts.push_back(literal.text);
  if (!prefilter_.emplace().build(texts)) prefilter_.reset();
  next_.clear();
  for (const auto& edges : trie) {
    for (std::uint32_t to : edges) next_.push_back(to * width_ | (owners[to].empty() ? 0 : kHit));
  }
  per_width_ = ((std::uint64_t{1} << 32) + width_ - 1) / width_;
  owners_begin_.clear();
  owners_.clear();
  for (const auto& of_state : owners) {
    owners_begin_.push_back(static_cast<std::uint32_t>(owners_.size()));
    for (const std::uint32_t owner : of_state) owners_.push_back(static_cast<std::uint16_t>(owner));
  }
  owners_begin_.push_back(static_cast<std::uint32_t>(owners_.size()));
}

void LiteralScanner::scan(std::string_view text, std::vector<std::uint8_t>& found,
                          std::vector<std::uint16_t>& hits) const {
  if (literals_.empty() || (prefilter_ && !prefilter_->may_occur(text))) return;
  // Rows whose owners were told, the newest of some: where a text repeats itself, once is enough.
  std::array<std::uint32_t, 32> told{};
  std::uint32_t row = 0;
  for (char c : text) {
    row = next_[row + class_of_[static_cast<unsigned char>(c)]];
    if ((row & kHit) != 0) {
      row &= ~kHit;
      const std::size_t state = (row * per_width_) >> 32;
      std::uint32_t& known = told[state % told.size()];
      if (known == row) continue;
      known = row;
      for (std::uint32_t i = owners_begin_[state]; i < owners_begin_[state + 1]; ++i) {
        const std::uint16_t owner = owners_[i];
        if (found[owner] == 0) hits.push_back(owner);
        found[owner] = 1;
      }
    }
  }
}

}  // namespace logarithm
