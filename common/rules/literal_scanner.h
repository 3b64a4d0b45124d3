#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/rules/literal_prefilter.h"

namespace logarithm {

// Finds which of a fixed set of literals occur in a text, in one pass (Aho-Corasick over byte
// classes): what it costs does not depend on how many rules there are. The case of ASCII letters
// does not matter. Where the literals are few, a prefilter spares most texts the pass. Immutable
// after build().
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
  std::vector<Literal> literals_;
  std::optional<LiteralPrefilter> prefilter_;
  std::array<std::uint8_t, 256> class_of_{};
  std::uint32_t width_ = 1;  // classes; 0 is "in no literal"
  // [state * width_ + class] -> next state * width_, with kHit when a literal ends there.
  static constexpr std::uint32_t kHit = 1u << 31;
  std::vector<std::uint32_t> next_;
  std::uint64_t per_width_ = 0;  // 2^32 / width_, rounded up: row -> state without a division
  // By state: where its owners begin in owners_, up to those of the next one.
  std::vector<std::uint32_t> owners_begin_;
  std::vector<std::uint16_t> owners_;
};

}  // namespace logarithm
