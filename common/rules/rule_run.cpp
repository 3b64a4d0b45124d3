#include "common/rules/rule_run.h"

#include <algorithm>

#include "common/rules/field_value.h"

namespace logarithm {
namespace {

using Reads = RecipeStep::Reads;

bool overlaps(std::string_view a, std::string_view b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

// Of `1,234 | loss`, in which `1` was matched: all of the number. As it is, where no groups of
// three digits follow.
std::string_view with_thousands(std::string_view text, std::string_view body) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || text.size() > 3 || text[0] == '0' ||
      !std::all_of(text.begin(), text.end(), digit)) {
    return text;
  }
  const auto begin = static_cast<std::size_t>(text.data() - body.data());
  std::size_t end = begin + text.size();
  const auto is_digit_at = [&](std::size_t at) { return at < body.size() && digit(body[at]); };
  while (end < body.size() && body[end] == ',' && is_digit_at(end + 1) && is_digit_at(end + 2) &&
         is_digit_at(end + 3) && !is_digit_at(end + 4)) {
    end += 4;
  }
  // 1,234,5 is a list.
  const bool list = end < body.size() && body[end] == ',' && is_digit_at(end + 1);
  return list ? text : body.substr(begin, end - begin);
}

MappingPart part_of(std::string_view field) {
  if (field == "pid") return MappingPart::pid;
  if (field == "rank" || field == "world_rank") return MappingPart::rank;
  if (field == "local_rank") return MappingPart::local_rank;
  if (field == "node_rank" || field == "group_rank") return MappingPart::group_rank;
  if (field == "world_size" || field == "nranks") return MappingPart::world_size;
  return field == "ip" || field == "host" ? MappingPart::host : MappingPart::none;
}

}  // namespace

void RuleRun::begin(std::string_view body, std::string_view stream, Extraction& out,
                    RecipeWriter* writer) {
  body_ = body;
  writer_ = writer;
  stream_ = stream;
  out_ = &out;
  out.clear();
  taken_.clear();
  pairs_taken_ = false;
}

bool RuleRun::apply(const Rule& rule) {
  if (!rule.streams.empty() &&
      std::find(rule.streams.begin(), rule.streams.end(), stream_) == rule.streams.end()) {
    return false;
  }
  // A metric line is read by one rule: the first, most special one whose pairs it has.
  const bool reads_pairs = rule.each || rule.parse != Rule::Parse::none;
  if (reads_pairs && pairs_taken_) return false;
  groups_.clear();
  if (rule.match && !search(*rule.match, 0, groups_)) return false;
  if (rule.parse != Rule::Parse::none && !read_body(rule)) return false;
  take_iteration(rule);
  take_fields(rule);
  const bool pairs = (rule.each && take_pairs(rule)) || take_entries(rule);
  if (!pairs && !rule.match && rule.parse == Rule::Parse::none) return false;
  pairs_taken_ = pairs_taken_ || pairs;
  for (const auto& constant : rule.constants) {
    if (add_meta(constant.key, constant.value, false) && writer_ != nullptr) {
      writer_->give(constant.key, constant.value);
    }
  }
  raise_severity(rule.severity);
  for (const auto& by_group : rule.group_severity) {
    const Text text = text_of(by_group.group);
    if (text) raise_severity(by_group.level ? by_group.level : parse_severity(*text));
    if (text && writer_ != nullptr) writer_->watch_widths(*text);
  }
  if (rule.event) add_event(out_->events, *rule.event);
  if (rule.maps_process) take_mapping(rule);
  return true;
}

void RuleRun::finish() { settle_events(out_->events); }

// A count of iterations is often printed with separators, and matched up to the first.
RuleRun::Text RuleRun::number_of(const Rule& rule, std::size_t group, bool& thousands) {
  const Text text = text_of(group);
  thousands = false;
  const auto& counts = rule.iteration_groups;
  if (!text || group >= Rule::kParsedKey ||
      std::find(counts.begin(), counts.end(), group) == counts.end()) {
    return text;
  }
  const std::string_view all = with_thousands(*text, body_);
  thousands = all.size() > text->size();
  // With another number of digits in front of or behind the comma it is another one.
  const std::size_t behind = end_of(*text);
  if (writer_ != nullptr && behind + 1 < body_.size() && body_[behind] == ',' &&
      has_digit(body_.substr(behind + 1, 1))) {
    const std::size_t begin = behind - text->size();
    const std::size_t end = std::min(body_.find_first_not_of("0123456789,", behind), body_.size());
    writer_->watch_widths(body_.substr(begin, end - begin));
    writer_->watch(body_.substr(begin, 1));  // a zero leads no groups
  }
  return all;
}

RuleRun::Text RuleRun::text_of(std::size_t group) const {
  if (group < Rule::kParsedKey) return groups_[group];
  const DictEntry* entry = keys_[group - Rule::kParsedKey];
  return entry == nullptr ? Text{} : Text{entry->text};
}

void RuleRun::take_iteration(const Rule& rule) {
  if (out_->iteration) return;
  for (const std::size_t group : rule.iteration_groups) {
    bool thousands = false;
    const Text text = number_of(rule, group, thousands);
    if (!text) continue;
    // A dictionary that says nothing else in numbers is no report of progress, unless it is a
    // logger's.
    if (group >= Rule::kParsedKey) {
      const auto numbers = std::count_if(entries_.begin(), entries_.end(),
                                         [](const DictEntry& entry) { return entry.number; });
      const bool logged = std::any_of(entries_.begin(), entries_.end(), [](const auto& entry) {
        return entry.key == "level" || entry.key == "levelname" || entry.key == "severity";
      });
      if (numbers < 2 && !logged) return;
    }
    const auto value = iteration_of(*text);
    if (!value) {
      if (writer_ != nullptr) writer_->look(Reads::iteration, *text, false);
      continue;
    }
    if (writer_ != nullptr) writer_->iteration(*text);
    out_->iteration = value;
    out_->carry_iteration = rule.carry_iteration;
    return;
  }
}

void RuleRun::take_fields(const Rule& rule) {
  for (const auto& field : rule.fields) {
    bool thousands = false;
    const Text text = number_of(rule, field.group, thousands);
    if (!text) continue;
    const FieldType type = thousands ? FieldType::int_thousands : field.type;
    if (add_meta(field.name, field_value(type, *text), field.point) && writer_ != nullptr) {
      writer_->give(Reads::field, *text, field.name, type);
    }
    if (field.group < Rule::kParsedKey && field.type != FieldType::string) taken_.push_back(*text);
  }
  for (const auto& first : rule.firsts) {
    for (const auto& [group, type] : first.groups) {
      const Text text = text_of(group);
      if (!text) continue;
      if (!type && group >= Rule::kParsedKey) {
        take_entry(*keys_[group - Rule::kParsedKey], first.name, first.point);
      } else {
        const FieldType as = type.value_or(FieldType::string);
        if (add_meta(first.name, field_value(as, *text), first.point) && writer_ != nullptr) {
          writer_->give(Reads::field, *text, first.name, as);
        }
      }
      break;
    }
  }
  if (rule.time_group && !out_->time) {
    const Text text = text_of(*rule.time_group);
    if (text) out_->time = parse_time(*text);
    if (text && writer_ != nullptr) {
      writer_->watch_widths(*text);
      if (out_->time) {
        writer_->time(*text);
      } else {
        writer_->look(Reads::time, *text, false);
      }
    }
  }
  if (rule.file_group && rule.line_group && out_->callsite.empty()) {
    const Text file = text_of(*rule.file_group), line = text_of(*rule.line_group);
    if (file && line) {
      out_->callsite.append(*file).append(":").append(*line);
      if (writer_ != nullptr) writer_->callsite(*file, *line);
    }
  }
}

void RuleRun::take_mapping(const Rule& rule) {
  ProcessMapping mapping;
  for (const auto& field : rule.fields) {
    const Text text = text_of(field.group);
    const MappingPart part = part_of(field.name);
    if (!text || part == MappingPart::none) continue;
    const bool found = set_part(mapping, part, *text);
    if (writer_ != nullptr) writer_->mapping(part, *text, found);
  }
  // A second rule's mapping replaces the first one's.
  if (writer_ != nullptr && out_->mapping) writer_->forget();
  if (mapping.rank || mapping.local_rank) out_->mapping = std::move(mapping);
}

bool RuleRun::is_point(const Rule& rule, std::string_view name) const {
  return std::find(rule.points.begin(), rule.points.end(), name) != rule.points.end();
}

// False when the key is there.
bool RuleRun::add_meta(std::string_view key, MetaValue value, bool point) {
  for (auto& known : out_->meta) {  // the first rule that names a key keeps it
    if (known.key == key) {
      known.point = known.point || point;
      return false;
    }
  }
  out_->meta.push_back({std::string(key), std::move(value), point});
  return true;
}

void RuleRun::raise_severity(std::optional<Severity> severity) {
  if (severity && (!out_->severity || *out_->severity < *severity)) out_->severity = severity;
}

bool RuleRun::taken(std::string_view text) const {
  return std::any_of(taken_.begin(), taken_.end(),
                     [&](std::string_view known) { return overlaps(known, text); });
}

}  // namespace logarithm
