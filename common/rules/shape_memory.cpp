#include "common/rules/shape_memory.h"

#include <utility>

#include "common/line/digit_shape.h"

namespace logarithm {

const ShapeMemory::Known* ShapeMemory::find(std::string_view body, std::uint64_t set,
                                            std::uint32_t stream, Shape& shape) {
  fold_digits(body, folded_);
  shape.text = std::string_view(folded_, body.size());
  shape.set = set;
  shape.stream = stream;
  shape.key = hash_shape(shape.text) ^ (set * 0x9E3779B97F4A7C15u) ^ (stream * 0xC2B2AE3D27D4EB4Fu);
  const Known& known = known_[shape.key % kEntries];
  const bool same = known.key == shape.key && known.set == set && known.stream == stream &&
                    known.shape == shape.text;
  return same ? &known : nullptr;
}

bool ShapeMemory::again(const Shape& shape) {
  std::uint32_t& seen = seen_[(shape.key >> 20) % kSeen];
  const auto mark = static_cast<std::uint32_t>(shape.key >> 32) | 1u;
  if (seen == mark) return true;
  seen = mark;
  return false;
}

void ShapeMemory::put(const Shape& shape, TemplateId id, std::shared_ptr<const LineRecipe> recipe) {
  Known& known = known_[shape.key % kEntries];
  known.key = shape.key;
  known.set = shape.set;
  known.stream = shape.stream;
  known.shape = shape.text;
  known.id = id;
  known.recipe = std::move(recipe);
}

}  // namespace logarithm
