#include "common/rules/rule_run.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "common/rules/duration.h"

namespace logarithm {
namespace {

using Reads = RecipeStep::Reads;

constexpr std::size_t kMaxPairs = 128;  // of one line; what repeats more often is no metric line

unsigned char byte(char c) { return static_cast<unsigned char>(c); }

bool overlaps(std::string_view a, std::string_view b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

// Of the letter that stands behind a number: 22.8K is 22800. KB and KiB are units, and stay beside
// the number.
double scale_of(std::string_view behind) {
  if (behind.empty() || (behind.size() > 1 && (std::isalnum(byte(behind[1])) != 0))) return 1;
  switch (behind[0]) {
    case 'k':
    case 'K': return 1e3;
    case 'M': return 1e6;
    case 'G': return 1e9;
    case 'T': return 1e12;
    default: return 1;
  }
}

// Counters keep their type: a step is no measurement.
bool is_step(std::string_view name) {
  return name == "step" || name == "global_step" || name == "iter" || name == "epoch" ||
         name == "num_updates";
}

bool separates_pairs(char c) { return c == ' ' || c == '\t' || c == ',' || c == ';' || c == '|'; }

// Of what read_duration() may look at behind a number: ` days, 2:03:04.5`.
std::size_t clock_size(std::string_view behind) {
  std::size_t at = 0;
  for (const std::string_view word : {" days, ", " day, "}) {
    if (behind.starts_with(word)) at = word.size();
  }
  return std::min(behind.find_first_not_of("0123456789:.", at), behind.size());
}

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
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

bool RuleRun::search(const Regex& pattern, std::size_t from, Regex::Groups& groups) {
  return writer_ == nullptr ? pattern.search_from(body_, from, groups)
                            : pattern.search_from(body_, from, groups, writer_->watch());
}

void RuleRun::finish() { settle_events(out_->events); }

bool RuleRun::read_body(const Rule& rule) {
  std::string_view body = body_;
  while (!body.empty() && (body.front() == ' ' || body.front() == '\t')) body.remove_prefix(1);
  if (!body.empty() && body.front() != '{' && body.back() == '}') {  // text {"step": 120}
    const std::size_t open = std::min(body.find(" {\""), body.find("\t{\""));
    if (open != std::string_view::npos) body.remove_prefix(open + 1);
  }
  if (body.empty() || body.front() != '{') return false;
  const bool json = rule.parse == Rule::Parse::json;
  const bool read = read_dict(body, json ? DictSyntax::json : DictSyntax::python, entries_);
  // Whether a word is a number decides here, escapes have digits, and calls hide values.
  if (writer_ != nullptr && (!read || body.find_first_of("\\(") != std::string_view::npos)) {
    writer_->forget();
  }
  if (!read) return false;
  keys_.assign(rule.keys.size(), nullptr);
  // At the top level first, then inside: {"data": {"step": 17}}
  for (const bool nested : {false, true}) {
    for (const DictEntry& entry : entries_) {
      std::string_view key = entry.key;
      if (nested) key.remove_prefix(std::min(key.rfind('.') + 1, key.size()));
      const auto known = std::find(rule.keys.begin(), rule.keys.end(), key);
      if (known == rule.keys.end()) continue;
      auto& place = keys_[static_cast<std::size_t>(known - rule.keys.begin())];
      if (place == nullptr) place = &entry;
    }
  }
  take_entry_time();
  return true;
}

void RuleRun::take_entry_time() {
  static constexpr std::array<std::string_view, 9> kTimes{
      "timestamp", "time", "ts", "datetime", "asctime", "@timestamp", "_timestamp", "date", "t"};
  if (out_->time) return;
  for (const DictEntry& entry : entries_) {
    std::string_view key = entry.key;
    key.remove_prefix(std::min(key.rfind('.') + 1, key.size()));
    if (std::find(kTimes.begin(), kTimes.end(), key) == kTimes.end()) continue;
    if (auto time = parse_time(entry.text); time && time->year) {
      out_->time = time;
      if (writer_ != nullptr) {
        writer_->watch_widths(entry.text);
        writer_->time(entry.text);
      }
      return;
    }
    if (writer_ != nullptr && has_digit(entry.text)) writer_->forget();
  }
}

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

std::size_t RuleRun::end_of(std::string_view part) const {
  return static_cast<std::size_t>(part.data() - body_.data()) + part.size();
}

// The pairs of `each` as float fields; returns whether there was any.
bool RuleRun::take_pairs(const Rule& rule) {
  std::size_t from = 0;
  bool any = false;
  for (std::size_t count = 0; count < kMaxPairs && search(*rule.each, from, pair_); ++count) {
    const auto end = static_cast<std::size_t>(pair_[0]->data() - body_.data()) + pair_[0]->size();
    // What separates two pairs may be asked for in front of the second too.
    const bool separated = pair_[0]->size() > 1 && separates_pairs(body_[end - 1]);
    from = pair_[0]->empty() ? end + 1 : end - (separated ? 1 : 0);
    const Text &key = pair_[rule.each_key], &text = pair_[rule.each_value];
    if (!key || !text || taken(*text)) continue;
    std::string name = metric_name(*key);
    if (name.size() > 3 && name.ends_with("_is")) name.resize(name.size() - 3);  // loss is 2.31
    // A key with digits is another one in the next line.
    if (writer_ != nullptr) writer_->watch(*key);
    const auto behind = body_.substr(end_of(*text));
    auto value = pair_value(*text);
    const bool number = value.has_value();
    const auto duration = read_duration(*text, behind);
    const double scale = duration.there ? 1 : scale_of(behind);
    if (duration.there) {
      // A clock is no measurement.
      value = duration.seconds && is_duration(name, *text) ? duration.seconds : std::nullopt;
      from = std::max(from, end_of(*text) + duration.size);
      if (writer_ != nullptr) {
        writer_->watch_widths(
            body_.substr(end_of(*text) - text->size(), text->size() + clock_size(behind)));
        writer_->look(*text, duration);
      }
    } else if (value && scale != 1) {
      *value *= scale;
    }
    // The iteration is the line's.
    if (!value || name.empty() || name == "iteration") {
      if (writer_ != nullptr) writer_->look(Reads::pair, *text, number);
      continue;
    }
    const auto step = is_step(name) ? parse_int(*text, true) : std::nullopt;
    const bool added =
        add_meta(name, step ? MetaValue(*step) : MetaValue(*value), is_point(rule, name));
    if (writer_ != nullptr) {
      if (step || !added) writer_->look(Reads::pair, *text, number);
      if (is_step(name) && !step) writer_->look(Reads::step, *text, false);
      if (added) give_pair(*text, name, step.has_value(), duration, scale);
    }
    taken_.push_back(*text);
    any = true;
  }
  return any;
}

void RuleRun::give_pair(std::string_view text, std::string_view name, bool step,
                        const Duration& duration, double scale) {
  if (step) {
    writer_->give(Reads::step, text, name);
  } else if (duration.there) {
    writer_->give_duration(text, duration, name);
  } else if (scale != 1) {
    writer_->give_scaled(text, scale, name);
  } else {
    writer_->give(Reads::pair, text, name);
  }
}

// All of a parsed body that is no declared field.
bool RuleRun::take_entries(const Rule& rule) {
  if (rule.parse == Rule::Parse::none) return false;
  for (const DictEntry& entry : entries_) {
    const std::string name = metric_name(entry.key);
    if (writer_ != nullptr && has_digit(entry.key)) writer_->forget();
    const bool named = !name.empty() && name != "iteration";
    take_entry(entry, named ? name : std::string(), is_point(rule, name));
  }
  return true;
}

// Without a name: it is looked at only.
void RuleRun::take_entry(const DictEntry& entry, const std::string& name, bool point) {
  const bool added = !name.empty() && add_meta(name, entry.value, point);
  if (writer_ == nullptr) return;
  if (entry.number) {
    const bool whole = std::holds_alternative<std::int64_t>(entry.value);
    if (!whole) writer_->look(Reads::entry_int, entry.text, false);
    const Reads reads = whole ? Reads::entry_int : Reads::entry_real;
    if (added) {
      writer_->give(reads, entry.text, name);
    } else {
      writer_->look(reads, entry.text, true);
    }
    return;
  }
  // A text that is no number, or a truth value.
  if (has_digit(entry.text)) {
    writer_->look(Reads::entry_int, entry.text, false);
    writer_->look(Reads::entry_real, entry.text, false);
  }
  if (!added) return;
  if (std::get<std::string>(entry.value) == entry.text) {
    writer_->give(Reads::field, entry.text, name);
  } else {
    writer_->give(name, entry.value);
  }
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
