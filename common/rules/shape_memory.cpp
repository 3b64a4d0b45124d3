#include "common/rules/shape_memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/line/digit_shape.h"
#include "common/line/mask_widths.h"

namespace logarithm {
namespace {

constexpr char kFree = '1';

// Of a shape whose numbers may have any widths.
std::uint64_t hash_loose(std::string_view shape) {
  char narrow[ShapeMemory::kLongest];
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
  // With quotes a body's size decides what is a string.
  if (shape.text.size() > kLongestQuoted &&
      shape.text.find_first_of("\"'") != std::string_view::npos) {
    return {};
  }
  shape.loose = (hash_loose(shape.text) ^ (shape.set * 0x9E3779B97F4A7C15u) ^
                 (shape.stream * 0xC2B2AE3D27D4EB4Fu)) |
                1u;
  Loose* const bucket = &loose_[(shape.loose >> 1) % kLooseBuckets * kWays];
  for (Loose* loose = bucket; loose < bucket + kWays; ++loose) {
    if (loose->key != shape.loose || loose->set != shape.set || loose->stream != shape.stream) {
      continue;
    }
    shape.loose_known = true;
    if (!loose->recipe || !fits(loose->shape, shape.text)) continue;
    ++loose->hits;
    return {loose, places_};
  }
  return {};
}

std::uint32_t ShapeMemory::count(std::uint64_t key) {
  constexpr std::uint32_t kCount = 15;
  std::uint32_t& seen = seen_[(key >> 20) % kSeen];
  const auto mark = static_cast<std::uint32_t>(key >> 32) & ~kCount;
  if ((seen & ~kCount) != mark) seen = mark;
  if ((seen & kCount) < kCount) ++seen;
  return seen & kCount;
}

bool ShapeMemory::again(const Shape& shape) {
  if (shape.loose != 0 && !shape.loose_known) return count(shape.loose) > 1;
  return count(shape.key) > (shape.loose_known ? 1 + waste_ / 8 : 1);
}

void ShapeMemory::put_loose(const Shape& shape, std::string marked, TemplateId id,
                            std::shared_ptr<const LineRecipe> recipe) {
  Loose* const bucket = &loose_[(shape.loose >> 1) % kLooseBuckets * kWays];
  Loose* place = nullptr;
  for (Loose* loose = bucket; loose < bucket + kWays && place == nullptr; ++loose) {
    if (loose->key == 0) place = loose;
  }
  if (place == nullptr) {
    // To write a recipe costs what it saves in about so many lines.
    constexpr std::uint32_t kPays = 16, kMostWaste = 96;
    place = bucket + next_++ % kWays;
    if (place->hits < kPays) {
      waste_ = std::min(waste_ + 1, kMostWaste);
    } else if (waste_ > 0) {
      --waste_;
    }
  }
  *place = {shape.loose, shape.set, shape.stream, std::move(marked), id, std::move(recipe), 0};
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
