#include "common/rules/line_recipe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/line/mask_widths.h"

namespace logarithm {
namespace {

using Reads = RecipeStep::Reads;
using Gives = RecipeStep::Gives;

// Of a dictionary's number; a longer one in quotes is a text.
constexpr std::size_t kMostEntry = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Where the bytes [begin, begin + size) lie in `body`.
std::string_view part_of(std::string_view body, LineRecipe::Places places, std::size_t begin,
                         std::size_t size) {
  if (places == nullptr) return body.substr(begin, size);
  return body.substr(places[begin], places[begin + size] - places[begin]);
}

}  // namespace

std::optional<double> pair_value(std::string_view text) {
  // Hardly any number has a comma.
  const auto value = parse_double(text);
  if (value || text.find(',') == std::string_view::npos) return value;
  std::string digits(text);
  std::erase(digits, ',');
  return parse_double(digits);
}

std::optional<std::int64_t> iteration_of(std::string_view text) {
  if (const auto plain = plain_digits(text)) return plain;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    if (!parse_int(text.substr(slash + 1))) return std::nullopt;
    text = text.substr(0, slash);
  }
  auto value = parse_int(text, true);
  if (!value) {
    const auto real = parse_double(text);
    if (real && *real >= 0 && *real < 9e15 && *real == std::floor(*real)) {
      value = static_cast<std::int64_t>(*real);
    }
  }
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<std::int32_t> small_int(std::string_view text) {
  const auto value = parse_int(text);
  if (!value || *value < 0 || *value > std::numeric_limits<std::int32_t>::max()) return {};
  return static_cast<std::int32_t>(*value);
}

bool set_part(ProcessMapping& mapping, MappingPart part, std::string_view text) {
  const auto set = [text](std::optional<std::int32_t>& to) {
    to = small_int(text);
    return to.has_value();
  };
  switch (part) {
    case MappingPart::none: return true;
    case MappingPart::pid: return set(mapping.pid);
    case MappingPart::rank: return set(mapping.rank);
    case MappingPart::local_rank: return set(mapping.local_rank);
    case MappingPart::group_rank: return set(mapping.group_rank);
    case MappingPart::world_size: return set(mapping.world_size);
    case MappingPart::host: mapping.host = text; return true;
  }
  return true;
}

// False when the value is not what it was.
template <typename Value>
bool LineRecipe::take(const Step& step, const Value& value, Extraction& out) const {
  if (value.has_value() != step.must) return false;
  if (value && step.gives == Gives::meta) out.meta[step.pair].value = *value;
  return true;
}

bool LineRecipe::run_duration(const Step& step, std::string_view text, std::string_view behind,
                              Extraction& out) const {
  const Duration found = read_duration(text, behind);
  const auto size = static_cast<std::int64_t>(found.size);
  return found.there && std::get<std::int64_t>(factors_[step.factor]) == size &&
         take(step, found.seconds, out);
}

bool LineRecipe::run(const Step& step, std::string_view body, Places places,
                     Extraction& out) const {
  const std::string_view text = part_of(body, places, step.begin, step.size);
  switch (step.reads) {
    case Reads::nothing: return true;
    case Reads::field: set_field(out.meta[step.pair].value, step.type, text); return true;
    case Reads::pair: return take(step, pair_value(text), out);
    case Reads::step: return take(step, parse_int(text, true), out);
    case Reads::entry_int: return text.size() <= kMostEntry && take(step, parse_int(text), out);
    case Reads::entry_real: return text.size() <= kMostEntry && take(step, parse_double(text), out);
    case Reads::small: return set_part(*out.mapping, step.part, text) == step.must;
    case Reads::duration: {
      const auto end = static_cast<std::size_t>(text.data() - body.data()) + text.size();
      return run_duration(step, text, body.substr(end), out);
    }
    case Reads::scaled: {
      auto value = pair_value(text);
      if (value) *value *= std::get<double>(factors_[step.factor]);
      return take(step, value, out);
    }
    case Reads::iteration: {
      const auto value = iteration_of(text);
      if (step.gives == Gives::iteration) out.iteration = value;
      return value.has_value() == step.must;
    }
    case Reads::time: {
      const auto value = parse_time(text);
      if (step.gives == Gives::time) out.time = value;
      return value.has_value() == step.must;
    }
  }
  return false;
}

bool LineRecipe::read(std::string_view body, Places places, Extraction& out) const {
  for (const auto& [place, digit] : digits_) {
    if (body[places == nullptr ? place : places[place]] != digit) return false;
  }
  out.clear();
  if (maps_) out.mapping.emplace();
  if (!pairs_.empty()) {
    out.meta.reserve(pairs_.size() + 3);  // room for what a header says too
    out.meta.insert(out.meta.end(), pairs_.begin(), pairs_.end());
  }
  for (const Step& step : steps_) {
    if (!run(step, body, places, out)) return false;
  }
  out.severity = severity_;
  out.carry_iteration = carry_iteration_;
  if (has_callsite_) {
    out.callsite.reserve(file_size_ + 1 + line_size_);
    out.callsite.append(part_of(body, places, file_begin_, file_size_)).append(":");
    out.callsite.append(part_of(body, places, line_begin_, line_size_));
  }
  if (!events_.empty()) out.events = events_;
  return true;
}

LineRecipe LineRecipe::moved(Places places) const {
  LineRecipe out = *this;
  const auto move = [&](auto& begin, auto& size) {
    const std::uint16_t from = places[begin];
    size = static_cast<std::uint16_t>(places[begin + size] - from);
    begin = from;
  };
  for (Step& step : out.steps_) move(step.begin, step.size);
  for (auto& [place, digit] : out.digits_) place = places[place];
  move(out.file_begin_, out.file_size_);
  move(out.line_begin_, out.line_size_);
  return out;
}

// False where a number is too large, or `found` is not what the steps give.
bool LineRecipe::pack(const std::vector<RecipeStep>& steps, const Extraction& found) {
  constexpr std::size_t kMost = 0xFFFF, kMostPairs = 0xFF;
  for (const RecipeStep& from : steps) {
    const bool gives = from.gives == Gives::meta;
    if (gives) {
      if (pairs_.size() >= found.meta.size() || pairs_.size() >= kMostPairs ||
          found.meta[pairs_.size()].key != from.key) {
        return false;
      }
      MetaPair& pair = pairs_.emplace_back(found.meta[pairs_.size()]);
      // What is read anew need not be kept.
      if (from.reads != Reads::nothing) pair.value = std::int64_t{0};
      if (from.reads == Reads::nothing) continue;
    }
    Step& step = steps_.emplace_back();
    step.reads = from.reads;
    step.gives = from.gives;
    step.must = from.must;
    step.type = from.type;
    step.part = from.part;
    if (gives) step.pair = static_cast<std::uint8_t>(pairs_.size() - 1);
    if (from.reads == Reads::duration || from.reads == Reads::scaled) {
      if (factors_.size() > 0xFF) return false;
      step.factor = static_cast<std::uint8_t>(factors_.size());
      factors_.push_back(from.value);
    }
    if (from.begin > kMost || from.size > kMost) return false;
    step.begin = static_cast<std::uint16_t>(from.begin);
    step.size = static_cast<std::uint16_t>(from.size);
  }
  steps_.shrink_to_fit();
  pairs_.shrink_to_fit();
  return pairs_.size() == found.meta.size();
}

RecipeStep& RecipeWriter::add(Reads reads, std::string_view text) {
  RecipeStep& step = steps_.emplace_back();
  step.reads = reads;
  // Only what lies in the body can be found again.
  if (text.data() < body_.data() || text.data() + text.size() > body_.data() + body_.size()) {
    forget();
    return step;
  }
  step.begin = static_cast<std::uint32_t>(text.data() - body_.data());
  step.size = static_cast<std::uint32_t>(text.size());
  return step;
}

void RecipeWriter::look(Reads reads, std::string_view text, bool found) {
  add(reads, text).must = found;
}

void RecipeWriter::give(Reads reads, std::string_view text, std::string_view key, FieldType type) {
  RecipeStep& step = add(reads, text);
  step.gives = Gives::meta;
  step.type = type;
  step.key = key;
}

void RecipeWriter::give(std::string_view key, const MetaValue& value) {
  RecipeStep& step = steps_.emplace_back();
  step.gives = Gives::meta;
  step.key = key;
  step.value = value;
}

void RecipeWriter::look(std::string_view text, const Duration& found) {
  RecipeStep& step = add(Reads::duration, text);
  step.must = found.seconds.has_value();
  step.value = static_cast<std::int64_t>(found.size);
}

void RecipeWriter::give_duration(std::string_view text, const Duration& found,
                                 std::string_view key) {
  look(text, found);
  steps_.back().gives = Gives::meta;
  steps_.back().key = key;
}

void RecipeWriter::give_scaled(std::string_view text, double scale, std::string_view key) {
  RecipeStep& step = add(Reads::scaled, text);
  step.gives = Gives::meta;
  step.key = key;
  step.value = scale;
}

void RecipeWriter::iteration(std::string_view text) {
  add(Reads::iteration, text).gives = Gives::iteration;
}

void RecipeWriter::time(std::string_view text) { add(Reads::time, text).gives = Gives::time; }

void RecipeWriter::watch(std::string_view text) {
  if (text.data() < body_.data() || text.data() + text.size() > body_.data() + body_.size()) {
    return forget();
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    watch_.note(static_cast<std::uint32_t>(text.data() - body_.data()) +
                static_cast<std::uint32_t>(i));
  }
}

void RecipeWriter::watch_widths(std::string_view text) {
  if (text.data() < body_.data() || text.data() + text.size() > body_.data() + body_.size()) {
    return forget();
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i])) continue;
    watch_.note_width(static_cast<std::uint32_t>(text.data() - body_.data()) +
                      static_cast<std::uint32_t>(i));
  }
}

void RecipeWriter::mapping(MappingPart part, std::string_view text, bool found) {
  RecipeStep& step = add(Reads::small, text);
  step.gives = Gives::mapping;
  step.part = part;
  step.must = found;
  recipe_.maps_ = true;
}

void RecipeWriter::callsite(std::string_view file, std::string_view line) {
  const RecipeStep at_file = add(Reads::nothing, file), at_line = add(Reads::nothing, line);
  steps_.resize(steps_.size() - 2);
  recipe_.has_callsite_ = true;
  recipe_.file_begin_ = at_file.begin;
  recipe_.file_size_ = at_file.size;
  recipe_.line_begin_ = at_line.begin;
  recipe_.line_size_ = at_line.size;
}

void RecipeWriter::mark_fixed(std::string& shape) {
  constexpr char kFree = '1';
  std::vector<std::uint32_t> masked;
  mask_widths(body_, masked);
  for (const std::uint32_t place : masked) watch_.note_width(place);
  // What begins or ends in the middle of a number has no place in a longer one.
  const auto note_edges = [&](std::size_t begin, std::size_t size) {
    for (const std::size_t at : {begin, begin + size}) {
      if (at > 0 && at < body_.size() && is_digit(body_[at - 1]) && is_digit(body_[at])) {
        watch_.note_width(static_cast<std::uint32_t>(at));
      }
    }
  };
  for (const RecipeStep& step : steps_) note_edges(step.begin, step.size);
  note_edges(recipe_.file_begin_, recipe_.file_size_);
  note_edges(recipe_.line_begin_, recipe_.line_size_);
  for (std::size_t begin = 0; begin < shape.size();) {
    std::size_t end = begin;
    bool fixed = false;
    for (; end < shape.size() && shape[end] == kFree; ++end) {
      fixed = fixed || watch_.noted_width(end);
    }
    // The zero of 0x belongs to the number in front of it.
    fixed = fixed || (end < shape.size() && shape[end] == '0');
    if (fixed) shape.replace(begin, end - begin, end - begin, kFixed);
    begin = std::max(end, begin + 1);
  }
}

std::optional<LineRecipe> RecipeWriter::finish(const Extraction& found, std::string& shape) {
  // A mapping that names no rank is none.
  if (!usable_ || watch_.all() || recipe_.maps_ != found.mapping.has_value()) return std::nullopt;
  for (const std::uint32_t place : watch_.places()) {
    if (place > 0xFFFF) return std::nullopt;
    recipe_.digits_.emplace_back(static_cast<std::uint16_t>(place), body_[place]);
  }
  if (!recipe_.pack(steps_, found)) return std::nullopt;
  mark_fixed(shape);
  recipe_.severity_ = found.severity;
  recipe_.carry_iteration_ = found.carry_iteration;
  recipe_.events_ = found.events;
  return std::move(recipe_);
}

}  // namespace logarithm
