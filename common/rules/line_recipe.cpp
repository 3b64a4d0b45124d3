#include "common/rules/line_recipe.h"

#include <cmath>
#include <limits>
#include <utility>

namespace logarithm {
namespace {

using Reads = RecipeStep::Reads;
using Gives = RecipeStep::Gives;

}  // namespace

std::optional<double> pair_value(std::string_view text) {
  if (text.find(',') == std::string_view::npos) return parse_double(text);
  std::string digits(text);
  std::erase(digits, ',');
  return parse_double(digits);
}

std::optional<std::int64_t> iteration_of(std::string_view text) {
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

bool LineRecipe::read(std::string_view body, Extraction& out) const {
  for (const auto& [place, digit] : digits_) {
    if (body[place] != digit) return false;
  }
  out.clear();
  if (maps_) out.mapping.emplace();
  // Room for what a header says too.
  if (pairs_ > 0) out.meta.reserve(pairs_ + 3);
  const auto add = [&out](const RecipeStep& step) -> MetaValue& {
    MetaPair& pair = out.meta.emplace_back();
    pair.key = step.key;
    pair.point = step.point;
    return pair.value;
  };
  // False when the value is not what it was.
  const auto take = [&add](const RecipeStep& step, const auto& value) {
    if (value.has_value() != step.must) return false;
    if (value && step.gives == Gives::meta) add(step) = *value;
    return true;
  };
  for (const RecipeStep& step : steps_) {
    const std::string_view text = body.substr(step.begin, step.size);
    bool same = true;
    switch (step.reads) {
      case Reads::nothing: add(step) = step.value; break;
      case Reads::field: set_field(add(step), step.type, text); break;
      case Reads::pair: same = take(step, pair_value(text)); break;
      case Reads::step: same = take(step, parse_int(text, true)); break;
      case Reads::entry_int: same = take(step, parse_int(text)); break;
      case Reads::entry_real: same = take(step, parse_double(text)); break;
      case Reads::iteration: {
        const auto value = iteration_of(text);
        same = value.has_value() == step.must;
        if (step.gives == Gives::iteration) out.iteration = value;
        break;
      }
      case Reads::small: same = set_part(*out.mapping, step.part, text) == step.must; break;
      case Reads::time: {
        const auto value = parse_time(text);
        same = value.has_value() == step.must;
        if (step.gives == Gives::time) out.time = value;
        break;
      }
    }
    if (!same) return false;
  }
  out.severity = severity_;
  out.carry_iteration = carry_iteration_;
  if (has_callsite_) {
    out.callsite.reserve(file_size_ + 1 + line_size_);
    out.callsite.append(body, file_begin_, file_size_).append(":");
    out.callsite.append(body, line_begin_, line_size_);
  }
  if (!events_.empty()) out.events = events_;
  return true;
}

RecipeStep& RecipeWriter::add(Reads reads, std::string_view text) {
  RecipeStep& step = recipe_.steps_.emplace_back();
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
  RecipeStep& step = recipe_.steps_.emplace_back();
  step.gives = Gives::meta;
  step.key = key;
  step.value = value;
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

void RecipeWriter::mapping(MappingPart part, std::string_view text, bool found) {
  RecipeStep& step = add(Reads::small, text);
  step.gives = Gives::mapping;
  step.part = part;
  step.must = found;
  recipe_.maps_ = true;
}

void RecipeWriter::callsite(std::string_view file, std::string_view line) {
  const RecipeStep at_file = add(Reads::nothing, file), at_line = add(Reads::nothing, line);
  recipe_.steps_.resize(recipe_.steps_.size() - 2);
  recipe_.has_callsite_ = true;
  recipe_.file_begin_ = at_file.begin;
  recipe_.file_size_ = at_file.size;
  recipe_.line_begin_ = at_line.begin;
  recipe_.line_size_ = at_line.size;
}

std::optional<LineRecipe> RecipeWriter::finish(const Extraction& found) {
  // A mapping that names no rank is none.
  if (!usable_ || watch_.all() || recipe_.maps_ != found.mapping.has_value()) return std::nullopt;
  for (const std::uint32_t place : watch_.places()) {
    recipe_.digits_.emplace_back(place, body_[place]);
  }
  std::size_t pair = 0;
  for (RecipeStep& step : recipe_.steps_) {
    if (step.gives != Gives::meta) continue;
    if (pair >= found.meta.size() || found.meta[pair].key != step.key) return std::nullopt;
    step.point = found.meta[pair++].point;
  }
  if (pair != found.meta.size()) return std::nullopt;
  recipe_.pairs_ = pair;
  recipe_.severity_ = found.severity;
  recipe_.carry_iteration_ = found.carry_iteration;
  recipe_.events_ = found.events;
  return std::move(recipe_);
}

}  // namespace logarithm
