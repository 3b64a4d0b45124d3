#include <algorithm>
#include <array>
#include <string>
#include <variant>

#include "common/rules/field_value.h"
#include "common/rules/rule_run.h"

// The part of a rule's run that takes dictionaries (`parse:`).
namespace logarithm {
namespace {

using Reads = RecipeStep::Reads;

}  // namespace

// The dictionary that is the body, or stands at its end.
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

}  // namespace logarithm
