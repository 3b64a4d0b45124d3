#include "common/rules/rule_run.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include "common/rules/duration.h"

namespace logarithm {
namespace {

constexpr std::size_t kMaxPairs = 128;  // of one line; what repeats more often is no metric line

unsigned char byte(char c) { return static_cast<unsigned char>(c); }

bool overlaps(std::string_view a, std::string_view b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

// "5,856" is a number here: metric lines print thousands.
std::optional<double> pair_value(std::string_view text) {
  if (text.find(',') == std::string_view::npos) return parse_double(text);
  std::string digits(text);
  std::erase(digits, ',');
  return parse_double(digits);
}

// `value` with the letter that stands behind it: 22.8K is 22800. KB and KiB are units, and stay
// beside the number.
double scaled(double value, std::string_view behind) {
  if (behind.empty() || (behind.size() > 1 && (std::isalnum(byte(behind[1])) != 0))) return value;
  switch (behind[0]) {
    case 'k':
    case 'K': return value * 1e3;
    case 'M': return value * 1e6;
    case 'G': return value * 1e9;
    case 'T': return value * 1e12;
    default: return value;
  }
}

// "3420", "3,420", "3420.0" (Lightning prints steps as floats) and "12/94".
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

// Counters keep their type: a step is no measurement.
bool is_step(std::string_view name) {
  return name == "step" || name == "global_step" || name == "iter" || name == "epoch" ||
         name == "num_updates";
}

std::optional<std::int32_t> small_int(std::string_view text) {
  const auto value = parse_int(text);
  if (!value || *value < 0 || *value > std::numeric_limits<std::int32_t>::max()) return {};
  return static_cast<std::int32_t>(*value);
}

}  // namespace

void RuleRun::begin(std::string_view body, std::string_view stream, Extraction& out) {
  body_ = body;
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
  if (rule.match && !rule.match->search(body_, groups_)) return false;
  if (rule.parse != Rule::Parse::none && !read_body(rule)) return false;
  take_iteration(rule);
  take_fields(rule);
  const bool pairs = (rule.each && take_pairs(rule)) || take_entries(rule);
  if (!pairs && !rule.match && rule.parse == Rule::Parse::none) return false;
  pairs_taken_ = pairs_taken_ || pairs;
  for (const auto& constant : rule.constants) add_meta(constant.key, constant.value, false);
  raise_severity(rule.severity);
  for (const auto& by_group : rule.group_severity) {
    const Text text = text_of(by_group.group);
    if (text) raise_severity(by_group.level ? by_group.level : parse_severity(*text));
  }
  if (rule.event) add_event(out_->events, *rule.event);
  if (rule.maps_process) take_mapping(rule);
  return true;
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
  if (!read_dict(body, json ? DictSyntax::json : DictSyntax::python, entries_)) return false;
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
      return;
    }
  }
}

RuleRun::Text RuleRun::text_of(std::size_t group) const {
  if (group < Rule::kParsedKey) return groups_[group];
  const DictEntry* entry = keys_[group - Rule::kParsedKey];
  return entry == nullptr ? Text{} : Text{entry->text};
}

void RuleRun::take_iteration(const Rule& rule) {
  if (out_->iteration) return;
  for (const std::size_t group : rule.iteration_groups) {
    const Text text = text_of(group);
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
    if (!value) continue;
    out_->iteration = value;
    out_->carry_iteration = rule.carry_iteration;
    return;
  }
}

void RuleRun::take_fields(const Rule& rule) {
  for (const auto& field : rule.fields) {
    const Text text = text_of(field.group);
    if (!text) continue;
    add_meta(field.name, field_value(field.type, *text), field.point);
    if (field.group < Rule::kParsedKey && field.type != FieldType::string) taken_.push_back(*text);
  }
  for (const auto& first : rule.firsts) {
    for (const auto& [group, type] : first.groups) {
      const Text text = text_of(group);
      if (!text) continue;
      add_meta(first.name, field_value(type, *text), first.point);
      break;
    }
  }
  if (rule.time_group && !out_->time) {
    const Text text = text_of(*rule.time_group);
    if (text) out_->time = parse_time(*text);
  }
  if (rule.file_group && rule.line_group && out_->callsite.empty()) {
    const Text file = text_of(*rule.file_group), line = text_of(*rule.line_group);
    if (file && line) out_->callsite.append(*file).append(":").append(*line);
  }
}

void RuleRun::take_mapping(const Rule& rule) {
  ProcessMapping mapping;
  for (const auto& field : rule.fields) {
    const Text text = text_of(field.group);
    if (!text) continue;
    if (field.name == "pid") {
      mapping.pid = small_int(*text);
    } else if (field.name == "rank" || field.name == "world_rank") {
      mapping.rank = small_int(*text);
    } else if (field.name == "local_rank") {
      mapping.local_rank = small_int(*text);
    } else if (field.name == "node_rank" || field.name == "group_rank") {
      mapping.group_rank = small_int(*text);
    } else if (field.name == "world_size" || field.name == "nranks") {
      mapping.world_size = small_int(*text);
    } else if (field.name == "ip" || field.name == "host") {
      mapping.host = *text;
    }
  }
  if (mapping.rank || mapping.local_rank) out_->mapping = std::move(mapping);
}

std::size_t RuleRun::end_of(std::string_view part) const {
  return static_cast<std::size_t>(part.data() - body_.data()) + part.size();
}

// The pairs of `each` as float fields; returns whether there was any.
bool RuleRun::take_pairs(const Rule& rule) {
  std::size_t from = 0;
  bool any = false;
  for (std::size_t count = 0; count < kMaxPairs && rule.each->search_from(body_, from, pair_);
       ++count) {
    const auto end = static_cast<std::size_t>(pair_[0]->data() - body_.data()) + pair_[0]->size();
    from = pair_[0]->empty() ? end + 1 : end;
    const Text &key = pair_[rule.each_key], &text = pair_[rule.each_value];
    if (!key || !text || taken(*text)) continue;
    std::string name = metric_name(*key);
    if (name.size() > 3 && name.ends_with("_is")) name.resize(name.size() - 3);  // loss is 2.31
    const auto behind = body_.substr(end_of(*text));
    auto value = pair_value(*text);
    if (const auto duration = read_duration(*text, behind); duration.there) {
      // A clock is no measurement.
      value = duration.seconds && is_duration(name, *text) ? duration.seconds : std::nullopt;
      from = std::max(from, end_of(*text) + duration.size);
    } else if (value) {
      value = scaled(*value, behind);
    }
    if (!value || name.empty() || name == "iteration") continue;  // that is the line's
    if (const auto step = is_step(name) ? parse_int(*text, true) : std::nullopt) {
      add_pair(rule, std::move(name), *step);
    } else {
      add_pair(rule, std::move(name), *value);
    }
    taken_.push_back(*text);
    any = true;
  }
  return any;
}

// All of a parsed body that is no declared field.
bool RuleRun::take_entries(const Rule& rule) {
  if (rule.parse == Rule::Parse::none) return false;
  for (DictEntry& entry : entries_) {
    std::string name = metric_name(entry.key);
    if (!name.empty() && name != "iteration")
      add_pair(rule, std::move(name), std::move(entry.value));
  }
  return true;
}

void RuleRun::add_pair(const Rule& rule, std::string name, MetaValue value) {
  const bool point = std::find(rule.points.begin(), rule.points.end(), name) != rule.points.end();
  add_meta(name, std::move(value), point);
}

void RuleRun::add_meta(std::string_view key, MetaValue value, bool point) {
  for (auto& known : out_->meta) {  // the first rule that names a key keeps it
    if (known.key == key) {
      known.point = known.point || point;
      return;
    }
  }
  out_->meta.push_back({std::string(key), std::move(value), point});
}

void RuleRun::raise_severity(std::optional<Severity> severity) {
  if (severity && (!out_->severity || *out_->severity < *severity)) out_->severity = severity;
}

bool RuleRun::taken(std::string_view text) const {
  return std::any_of(taken_.begin(), taken_.end(),
                     [&](std::string_view known) { return overlaps(known, text); });
}

}  // namespace logarithm
