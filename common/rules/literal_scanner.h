#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace logarithm {

// Finds which of a fixed set of literals occur in a text, in one pass (Aho-Corasick over byte
// classes): what it costs does not depend on how many rules there are. The case of ASCII letters
// does not matter. Where the literals are few, most texts are found to have none of them by a look
// at 16 bytes at once. Immutable after build().
class LiteralScanner {
 public:
  // Adds a non-empty literal; `owner` is reported when it occurs.
  void add(std::string_view literal, std::uint32_t owner);
  void build();

  // Sets found[owner] for every literal in `text` and appends the owner to `hits` where it was not
  // set; found is large enough for every owner.
  void scan(std::string_view text, std::vector<std::uint8_t>& found,
            std::vector<std::uint16_t>& hits) const;

 private:
  struct Literal {
    std::string text;
    std::uint32_t owner;
  };
  // Three bytes of each literal, with bit 0x20 set.
  using Window = std::array<unsigned char, 3>;
  static constexpr std::size_t kMostWindows = 16;

  void choose_windows();
  bool may_occur(std::string_view text) const;

  std::vector<Literal> literals_;
  std::vector<Window> windows_;  // empty: too many, or too short ones
  std::array<std::uint8_t, 256> class_of_{};
  std::uint32_t width_ = 1;  // classes; 0 is "in no literal"
  // [state * width_ + class] -> next state * width_, with kHit when a literal ends there.
  static constexpr std::uint32_t kHit = 1u << 31;
  std::vector<std::uint32_t> next_;
  std::vector<std::vector<std::uint32_t>> owners_;  // by state
};

}  // namespace logarithm
