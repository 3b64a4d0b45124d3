#include "common/rules/shape_memory.h"

#include <string>
#include <utility>

#include "common/line/digit_shape.h"

namespace logarithm {
namespace {

constexpr char kFree = '1';

// Of a shape whose numbers may have any widths.
std::uint64_t hash_loose(std::string_view shape) {
  char narrow[ShapeMemory::kLongestLoose];
  std::size_t size = 0;
  char last = '\0';
  for (const char c : shape) {
    narrow[size] = c;
    size += c == kFree && last == kFree ? 0u : 1u;
    last = c;
  }
  return hash_shape({narrow, size});
}

}  // namespace

const ShapeMemory::Known* ShapeMemory::find(std::string_view body, std::uint64_t set,
                                            std::uint32_t stream, Shape& shape) {
  fold_digits(body, folded_);
  shape.text = std::string_view(folded_, body.size());
  shape.set = set;
  shape.stream = stream;
  shape.loose = 0;
  shape.loose_known = false;
  shape.key = hash_shape(shape.text) ^ (set * 0x9E3779B97F4A7C15u) ^ (stream * 0xC2B2AE3D27D4EB4Fu);
  const Known& known = known_[shape.key % kEntries];
  const bool same = known.key == shape.key && known.set == set && known.stream == stream &&
                    known.shape == shape.text;
  return same ? &known : nullptr;
}

// Whether `shape` differs from the one that was marked in the widths of free numbers only; then
// places_ says where everything lies.
bool ShapeMemory::fits(std::string_view marked, std::string_view shape) {
  std::size_t from = 0, to = 0;
  while (from < marked.size()) {
    const char c = marked[from];
    const bool free = c == kFree, fixed = c == RecipeWriter::kFixed;
    places_[from] = static_cast<std::uint16_t>(to);
    if (to == shape.size() || shape[to] != (fixed ? kFree : c)) return false;
    ++from, ++to;
    if (free) {
      while (from < marked.size() && marked[from] == kFree) ++from;
      while (to < shape.size() && shape[to] == kFree) ++to;
    } else if (fixed && to < shape.size() && shape[to] == kFree &&
               (from == marked.size() || marked[from] != c)) {
      return false;  // longer than it was
    }
  }
  places_[from] = static_cast<std::uint16_t>(to);
  return to == shape.size();
}

ShapeMemory::Found ShapeMemory::find_loose(Shape& shape) {
  if (shape.text.size() > kLongestLoose) return {};
  shape.loose = (hash_loose(shape.text) ^ (shape.set * 0x9E3779B97F4A7C15u) ^
                 (shape.stream * 0xC2B2AE3D27D4EB4Fu)) |
                1u;
  const Loose* const bucket = &loose_[(shape.loose >> 1) % kLooseBuckets * kWays];
  for (const Loose* loose = bucket; loose < bucket + kWays; ++loose) {
    if (loose->key != shape.loose || loose->set != shape.set || loose->stream != shape.stream) {
      continue;
    }
    shape.loose_known = true;
    if (loose->recipe && fits(loose->shape, shape.text)) return {loose, places_};
  }
  return {};
}

bool ShapeMemory::came_before(std::uint64_t key) {
  std::uint32_t& seen = seen_[(key >> 20) % kSeen];
  const auto mark = static_cast<std::uint32_t>(key >> 32) | 1u;
  if (seen == mark) return true;
  seen = mark;
  return false;
}

bool ShapeMemory::again(const Shape& shape) {
  const bool any_width = shape.loose != 0 && !shape.loose_known;
  return came_before(any_width ? shape.loose : shape.key);
}

void ShapeMemory::put_loose(const Shape& shape, std::string marked, TemplateId id,
                            std::shared_ptr<const LineRecipe> recipe) {
  Loose* const bucket = &loose_[(shape.loose >> 1) % kLooseBuckets * kWays];
  Loose* place = nullptr;
  for (Loose* loose = bucket; loose < bucket + kWays && place == nullptr; ++loose) {
    if (loose->key == 0) place = loose;
  }
  if (place == nullptr) place = bucket + next_++ % kWays;
  *place = {shape.loose, shape.set, shape.stream, std::move(marked), id, std::move(recipe)};
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
