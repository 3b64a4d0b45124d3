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
class ShapeMemory {
 public:
  static constexpr std::size_t kLongest = 512;  // bytes of a body that is worth a place

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
    std::string_view text;  // valid until the next find()
  };

  ShapeMemory() : known_(kEntries), seen_(kSeen) {}

  // What is known of the shape of `body`, which has at most kLongest bytes; null when nothing is.
  const Known* find(std::string_view body, std::uint64_t set, std::uint32_t stream, Shape& shape);
  // True when the shape came before: then put() is worth its cost.
  bool again(const Shape& shape);
  void put(const Shape& shape, TemplateId id, std::shared_ptr<const LineRecipe> recipe);

 private:
  static constexpr std::size_t kEntries = 4096, kSeen = 16384;

  std::vector<Known> known_;
  std::vector<std::uint32_t> seen_;
  char folded_[kLongest];
};

}  // namespace logarithm
