#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "common/rules/duration.h"
#include "common/rules/field_value.h"
#include "common/rules/rule_run.h"

// The part of a rule's run that takes the pairs of `each`: `loss=2.3 lr: 1e-4`.
namespace logarithm {
namespace {

using Reads = RecipeStep::Reads;

constexpr std::size_t kMaxPairs = 128;  // of one line; what repeats more often is no metric line

unsigned char byte(char c) { return static_cast<unsigned char>(c); }

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

// Is what begins at `at` a value (`phase=warm`), so that no key begins there? `:` is one where the
// pairs are written with it and without blanks (`phase:warm loss:1.5`).
bool is_value(std::string_view line, std::size_t at, bool colons) {
  const bool blank = at > 0 && line[at - 1] == ' ';
  if (blank) --at;
  if (at == 0) return false;
  const char sign = line[--at];
  if (sign != '=' && !(sign == ':' && colons && !blank)) return false;
  if (at > 0 && line[at - 1] == ' ') --at;
  // `== train loss 2.5 ==` is a rule, no pair.
  return at > 0 && (std::isalnum(byte(line[at - 1])) != 0 || line[at - 1] == '_');
}

// Of what read_duration() may look at behind a number: ` days, 2:03:04.5`.
std::size_t clock_size(std::string_view behind) {
  std::size_t at = 0;
  for (const std::string_view word : {" days, ", " day, "}) {
    if (behind.starts_with(word)) at = word.size();
  }
  return std::min(behind.find_first_not_of("0123456789:.", at), behind.size());
}

}  // namespace

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
    std::string name = metric_name(key_of_pair(*key));
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

// The key without the value of the pair before it: `phase=warm loss=1.5` has a loss.
std::string_view RuleRun::key_of_pair(std::string_view key) const {
  const auto begin = static_cast<std::size_t>(key.data() - body_.data());
  const auto behind = body_.substr(begin + key.size());
  const bool colons = behind.size() > 1 && behind[0] == ':' && behind[1] != ' ';
  if (!is_value(body_, begin, colons)) return key;
  const std::size_t blank = key.find(' ');
  // `run:loss:1.5` names what the loss is of.
  if (blank == std::string_view::npos) return body_[begin - 1] == ':' ? key : std::string_view();
  return key.substr(blank + 1);
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

}  // namespace logarithm
