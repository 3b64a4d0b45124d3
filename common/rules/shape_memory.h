#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/types.h"
#include "common/rules/line_recipe.h"

namespace logarithm {

// Recipes by the shape of a body (see common/line/digit_shape.h). Of a fixed size: the newest wins,
// but a shape takes a place only when it comes a second time, so that lines which never repeat push
// nothing out. One thread; shared by all rule sets.
//
// Where some numbers of a body may have any digits, more of them or fewer, its recipe is kept once
// for all these shapes ("loose"); the others have to be as long as they were.
class ShapeMemory {
 public:
  static constexpr std::size_t kLongest = 512;  // bytes of a body that is worth a place
  static_assert(kLongest <= DigitWatch::kWidths);

  struct Known {
    std::uint64_t key = 0;
    std::uint64_t set = 0;     // which rule set
    std::uint32_t stream = 0;  // what the rules make of the stream's name
    std::string shape;
    TemplateId id = 0;
    std::shared_ptr<const LineRecipe> recipe;  // none: the rules have to run
  };
  // What find() looked for.
  struct Shape {
    std::uint64_t key = 0, set = 0;
    std::uint32_t stream = 0;
    std::string_view text;     // valid until the next find()
    std::uint64_t loose = 0;   // the same for all widths; 0: not looked for
    bool loose_known = false;  // it was there, for other widths
  };
  struct Loose {
    std::uint64_t key = 0, set = 0;
    std::uint32_t stream = 0;
    std::string shape;  // as RecipeWriter::finish() marks it
    TemplateId id = 0;
    std::shared_ptr<const LineRecipe> recipe;  // none: all of its numbers have to be as long
    std::uint32_t hits = 0;
  };
  struct Found {
    const Loose* loose = nullptr;
    LineRecipe::Places places = nullptr;  // valid until the next find_loose()
  };

  ShapeMemory() : known_(kEntries), loose_(kLooseBuckets * kWays), seen_(kSeen) {}

  // What is known of the shape of `body`, which has at most kLongest bytes; null when nothing is.
  const Known* find(std::string_view body, std::uint64_t set, std::uint32_t stream, Shape& shape);
  // What holds for the shape that find() did not know, and has numbers of other widths. Notes in
  // `shape` what it looked for.
  Found find_loose(Shape& shape);
  // True when the shape came before: then put() is worth its cost. Where nothing of its kind is
  // known, one with other widths will do; where some is, and loose shapes are replaced before they
  // were of use, it has to have come more often.
  bool again(const Shape& shape);
  void put(const Shape& shape, TemplateId id, std::shared_ptr<const LineRecipe> recipe);
  // `marked`: the shape, with the numbers marked that have to be as long as they are.
  void put_loose(const Shape& shape, std::string marked, TemplateId id,
                 std::shared_ptr<const LineRecipe> recipe);

 private:
  static constexpr std::size_t kEntries = 4096, kSeen = 16384, kLooseBuckets = 512, kWays = 4;

  bool fits(std::string_view marked, std::string_view shape);
  // How often a key came, this time included; up to 15.
  std::uint32_t count(std::uint64_t key);

  std::vector<Known> known_;
  std::vector<Loose> loose_;
  std::size_t next_ = 0;     // which way makes room
  std::uint32_t waste_ = 0;  // goes up with each loose shape that did not pay
  std::uint16_t places_[kLongest + 1];
  std::vector<std::uint32_t> seen_;  // a mark, and in its lowest bits how often it came
  char folded_[kLongest];
};

}  // namespace logarithm
