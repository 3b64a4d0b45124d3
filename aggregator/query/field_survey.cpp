#include "aggregator/query/field_survey.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "aggregator/query/match.h"

namespace logarithm::aggregator {
namespace {

// As predicate.h has them; `id` and `text` are of every line and are not sampled.
constexpr std::string_view kColumnNames[] = {
    "time",     "job",       "attempt", "rank",      "host",  "stream", "severity", "callsite",
    "template", "iteration", "process", "stream_id", "flags", "id",     "text"};

template <typename T>
void widen_to(std::optional<MinMax<T>>& range, T value) {
  if (!range) {
    range = MinMax<T>{value, value};
    return;
  }
  range->min = std::min(range->min, value);
  range->max = std::max(range->max, value);
}

ValueFacts& facts_of_type(std::array<std::optional<ValueFacts>, 4>& types, ValueType type) {
  auto& facts = types[static_cast<std::size_t>(type)];
  if (!facts) {
    facts.emplace();
    facts->type = type;
  }
  return *facts;
}

}  // namespace

std::string_view to_string(ValueType type) {
  switch (type) {
    case ValueType::integer: return "int";
    case ValueType::real: return "float";
    case ValueType::string: return "string";
    case ValueType::time: return "time";
  }
  return "";
}

std::uint64_t FieldFacts::count() const {
  std::uint64_t out = 0;
  for (const ValueFacts& facts : types) out += facts.count;
  return out;
}

void FieldSurvey::add_sample(ValueFacts& facts, std::string_view text, std::uint64_t count) {
  const std::size_t before = facts.values.kept();
  facts.values.add(text, cap_, count);
  kept_ += facts.values.kept();
  kept_ -= before;
  if (kept_ <= kMaxSample) return;
  cap_ = std::max<std::size_t>(cap_ / 2, 1);
  kept_ = 0;
  for (auto* fields : {&columns_, &metadata_}) {
    for (auto& [name, types] : *fields) {
      for (auto& one : types) {
        if (!one) continue;
        one->values.shrink(cap_);
        kept_ += one->values.kept();
      }
    }
  }
}

void FieldSurvey::add_integer(Types& types, std::int64_t value, std::uint64_t count) {
  ValueFacts& facts = facts_of_type(types, ValueType::integer);
  facts.count += count;
  widen_to(facts.integers, value);
  char text[24];
  auto [end, problem] = std::to_chars(text, text + sizeof text, value);
  add_sample(facts, std::string_view(text, static_cast<std::size_t>(end - text)), count);
}

void FieldSurvey::add_real(Types& types, double value) {
  ValueFacts& facts = facts_of_type(types, ValueType::real);
  ++facts.count;
  if (std::isnan(value)) {
    facts.has_nan = true;
  } else {
    widen_to(facts.reals, value);
  }
  add_sample(facts, print_number(value), 1);
}

void FieldSurvey::add_text(Types& types, std::string_view text, std::uint64_t count) {
  ValueFacts& facts = facts_of_type(types, ValueType::string);
  facts.count += count;
  add_sample(facts, text, count);
}

void FieldSurvey::take_pair(const MetaPair& pair) {
  auto found = metadata_.find(pair.key);
  if (found == metadata_.end()) {
    if (metadata_.size() >= kMaxKeys) {
      ++pairs_left_out_;
      return;
    }
    found = metadata_.emplace(pair.key, Types()).first;
  }
  Types& types = found->second;
  if (const auto* integer = std::get_if<std::int64_t>(&pair.value)) {
    add_integer(types, *integer);
    if (pair.point) ++facts_of_type(types, ValueType::integer).points;
  } else if (const auto* real = std::get_if<double>(&pair.value)) {
    add_real(types, *real);
    if (pair.point) ++facts_of_type(types, ValueType::real).points;
  } else {
    add_text(types, std::get<std::string>(pair.value));
  }
}

Status FieldSurvey::take(const Line& line, const StreamJoin& join, const BlockRef&) {
  ++lines_;
  ++joins_[&join];
  widen_to(time_, line.time);
  if (const auto rank = rank_of(line, join)) ++ranks_[*rank];
  const std::string_view stream = stream_name(line, join);
  if (auto at = streams_.find(stream); at != streams_.end()) {
    ++at->second;
  } else {
    streams_.emplace(stream, 1);
  }
  ++severities_[static_cast<std::size_t>(line.severity) % severities_.size()];
  for (std::size_t bit = 0; line.flags >> bit != 0 && bit < flags_.size(); ++bit) {
    flags_[bit] += line.flags >> bit & 1u;
  }
  if (line.iteration) add_integer(column("iteration"), *line.iteration);
  if (!line.callsite.empty()) add_text(column("callsite"), line.callsite);
  char id[17];
  std::snprintf(id, sizeof id, "%016llx", static_cast<unsigned long long>(line.template_id));
  add_text(column("template"), id);
  for (const MetaPair& pair : line.meta) take_pair(pair);
  return {};
}

void FieldSurvey::finish_joins() {
  for (const auto& [join, count] : joins_) {
    const StreamAttributes& attributes = *join->attributes;
    if (!join->job->empty()) add_text(column("job"), *join->job, count);
    if (join->attempt) add_integer(column("attempt"), *join->attempt, count);
    if (!attributes.host.empty()) add_text(column("host"), attributes.host, count);
    if (!attributes.process.empty()) add_text(column("process"), attributes.process, count);
    add_text(column("stream_id"), join->stream_text, count);
  }
  for (const auto& [rank, count] : ranks_) add_integer(column("rank"), rank, count);
  for (const auto& [name, count] : streams_) {
    if (!name.empty()) add_text(column("stream"), name, count);
  }
  for (std::size_t i = 1; i < severities_.size(); ++i) {
    const std::string_view word = to_string(static_cast<Severity>(i));
    if (severities_[i] > 0) add_text(column("severity"), word, severities_[i]);
  }
  for (const FlagName& flag : kFlagNames) {
    for (std::size_t bit = 0; bit < flags_.size(); ++bit) {
      if (flag.bit == 1u << bit && flags_[bit] > 0) {
        add_text(column("flags"), flag.name, flags_[bit]);
      }
    }
  }
  if (lines_ == 0) return;
  ValueFacts& time = facts_of_type(column("time"), ValueType::time);
  time.count = lines_;
  time.integers = time_;
  time.counted = false;
  for (const std::string_view name : {"id", "text"}) {
    ValueFacts& facts = facts_of_type(column(name), ValueType::string);
    facts.count = lines_;
    facts.counted = false;
  }
}

std::vector<FieldFacts> FieldSurvey::finish() {
  finish_joins();
  std::vector<FieldFacts> out;
  const auto put = [&](std::string name, bool is_metadata, Types& types) {
    FieldFacts field;
    field.name = std::move(name);
    field.is_metadata = is_metadata;
    for (auto& facts : types) {
      if (!facts) continue;
      facts->values.shrink(cap_);
      field.types.push_back(std::move(*facts));
    }
    if (!field.types.empty()) out.push_back(std::move(field));
  };
  for (const std::string_view name : kColumnNames) put(std::string(name), false, column(name));
  for (auto& [key, types] : metadata_) {
    // A key that is also a column's name is reached by its full name.
    const bool taken = field_named(key).field != Field::meta || key.starts_with("meta.");
    put(taken ? "meta." + key : key, true, types);
  }
  return out;
}

}  // namespace logarithm::aggregator
