#include "common/config/yaml_node.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "common/config/nearest.h"
#include "common/config/units.h"

namespace logarithm::config {
namespace {

std::size_t line_of(const YAML::Node& node) {
  return static_cast<std::size_t>(node.Mark().line) + 1;
}

}  // namespace

// A visited place. `node` is undefined when the place does not exist.
struct YamlItem {
  YAML::Node node{YAML::NodeType::Undefined};
  std::string path;
  std::size_t line = 0;
  std::map<std::string, YamlItem*, std::less<>> children;  // by key: those that were asked for
  std::vector<YamlItem*> elements;
  bool kind_reported = false;
  bool finished = false;
};

struct YamlState {
  std::string file;
  std::deque<YamlItem> items;  // stable addresses; the first is the root
  Problems problems;

  YamlItem* add(YAML::Node node, std::string path, std::size_t line) {
    YamlItem& item = items.emplace_back();
    item.line = line;
    item.node.reset(node);
    item.path = std::move(path);
    note_duplicates(item);
    return &item;
  }

  void note(std::size_t line, std::string path, std::string what) {
    problems.push_back({file, line, std::move(path), std::move(what)});
  }

 private:
  // yaml-cpp keeps both values of a key that is given twice and finds the first.
  void note_duplicates(const YamlItem& item) {
    if (!item.node.IsMap()) return;
    std::set<std::string> seen;
    for (const auto& pair : item.node) {
      const std::size_t line = line_of(pair.first);
      if (!pair.first.IsScalar()) {
        note(line, item.path, "a key must be a plain word");
      } else if (!seen.insert(pair.first.Scalar()).second) {
        note(line, item.path, "'" + pair.first.Scalar() + "' is given twice");
      }
    }
  }
};

namespace {

std::string join(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

// The value of `key`, and the line of the key (an empty value has none of its own).
struct Found {
  YAML::Node value{YAML::NodeType::Undefined};
  std::size_t line = 0;
};

Found find_key(const YAML::Node& map, std::string_view key) {
  Found found;
  if (!map.IsDefined() || !map.IsMap()) return found;
  for (const auto& pair : map) {
    if (!pair.first.IsScalar() || pair.first.Scalar() != key) continue;
    found.value.reset(pair.second);
    found.line = line_of(pair.first);
    break;
  }
  return found;
}

template <typename Number>
bool parse_whole(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  auto [stop, problem] = std::from_chars(text.data(), end, value);
  return problem == std::errc{} && stop == end;
}

bool usable(const YAML::Node& node) { return node.IsDefined() && !node.IsNull(); }

}  // namespace

bool YamlNode::exists() const { return usable(item_->node); }
bool YamlNode::is_map() const { return exists() && item_->node.IsMap(); }
bool YamlNode::is_list() const { return exists() && item_->node.IsSequence(); }
bool YamlNode::is_scalar() const { return exists() && item_->node.IsScalar(); }
std::size_t YamlNode::line() const { return item_->line; }
const std::string& YamlNode::path() const { return item_->path; }

bool YamlNode::has(std::string_view key) const {
  return item_->node.IsDefined() && find_key(item_->node, key).value.IsDefined();
}

YamlItem* YamlNode::below(std::string_view key) const {
  if (exists() && !is_map() && !item_->kind_reported) {
    item_->kind_reported = true;
    problem("must be a map (key: value)");
  }
  auto found = item_->children.find(key);
  if (found != item_->children.end()) return found->second;
  Found value = find_key(item_->node, key);
  const std::size_t line = value.line != 0 ? value.line : item_->line;
  YamlItem* item = state_->add(value.value, join(item_->path, key), line);
  item_->children.emplace(std::string(key), item);
  return item;
}

YamlNode YamlNode::any(std::string_view key) const { return YamlNode(state_, below(key)); }

YamlNode YamlNode::child(std::string_view key) const {
  YamlItem* item = below(key);
  if (usable(item->node) && !item->node.IsMap() && !item->kind_reported) {
    item->kind_reported = true;
    state_->note(item->line, item->path, "must be a map (key: value)");
  }
  return YamlNode(state_, item);
}

std::vector<std::string> YamlNode::keys() const {
  std::vector<std::string> out;
  if (!is_map()) return out;
  for (const auto& pair : item_->node) {
    if (pair.first.IsScalar()) out.push_back(pair.first.Scalar());
  }
  return out;
}

// The scalar at `key`; nullopt when it is absent or (noted) something else.
std::optional<std::string> YamlNode::scalar_at(std::string_view key) const {
  YamlItem* item = below(key);
  if (!item->node.IsDefined()) return std::nullopt;
  if (item->node.IsScalar()) return item->node.Scalar();
  state_->note(item->line, item->path,
               item->node.IsNull() ? "has no value" : "must be a single value");
  return std::nullopt;
}

std::string YamlNode::string(std::string_view key, std::string fallback) const {
  std::optional<std::string> text = scalar_at(key);
  return text ? *text : std::move(fallback);
}

std::string YamlNode::required(std::string_view key) const {
  if (!has(key)) {
    below(key);
    problem("needs '" + std::string(key) + "'");
    return "";
  }
  std::optional<std::string> text = scalar_at(key);
  if (text && text->empty()) problem_at(key, "must not be empty");
  return text.value_or("");
}

std::int64_t YamlNode::integer(std::string_view key, std::int64_t fallback, std::int64_t min,
                               std::int64_t max) const {
  std::optional<std::string> text = scalar_at(key);
  if (!text) return fallback;
  std::int64_t value = 0;
  if (!parse_whole(*text, value)) {
    problem_at(key, "'" + *text + "' is not a whole number");
    return fallback;
  }
  if (value >= min && value <= max) return value;
  problem_at(key, value < min ? "must be at least " + std::to_string(min)
                              : "must be at most " + std::to_string(max));
  return fallback;
}

double YamlNode::number(std::string_view key, double fallback) const {
  std::optional<std::string> text = scalar_at(key);
  if (!text) return fallback;
  double value = 0;
  if (!parse_whole(*text, value) || !std::isfinite(value)) {
    problem_at(key, "'" + *text + "' is not a number");
    return fallback;
  }
  return value;
}

bool YamlNode::boolean(std::string_view key, bool fallback) const {
  std::optional<std::string> text = scalar_at(key);
  if (!text) return fallback;
  if (*text == "true") return true;
  if (*text == "false") return false;
  problem_at(key, "'" + *text + "' is neither true nor false");
  return fallback;
}

std::chrono::nanoseconds YamlNode::duration(std::string_view key, std::chrono::nanoseconds fallback,
                                            std::chrono::nanoseconds min,
                                            std::chrono::nanoseconds max) const {
  std::optional<std::string> text = scalar_at(key);
  if (!text) return fallback;
  auto parsed = parse_duration(*text);
  if (!parsed.ok()) {
    problem_at(key, parsed.error().message());
    return fallback;
  }
  if (*parsed >= min && *parsed <= max) return *parsed;
  problem_at(key, *parsed < min ? "must be at least " + format_duration(min)
                                : "must be at most " + format_duration(max));
  return fallback;
}

std::uint64_t YamlNode::size(std::string_view key, std::uint64_t fallback, std::uint64_t min,
                             std::uint64_t max) const {
  std::optional<std::string> text = scalar_at(key);
  if (!text) return fallback;
  auto parsed = parse_size(*text);
  if (!parsed.ok()) {
    problem_at(key, parsed.error().message());
    return fallback;
  }
  if (*parsed >= min && *parsed <= max) return *parsed;
  problem_at(key, *parsed < min ? "must be at least " + format_size(min)
                                : "must be at most " + format_size(max));
  return fallback;
}

std::string YamlNode::choice(std::string_view key, std::string fallback,
                             const std::vector<std::string>& choices) const {
  std::optional<std::string> text = scalar_at(key);
  if (!text) return fallback;
  if (std::find(choices.begin(), choices.end(), *text) != choices.end()) return *text;
  std::string all;
  for (const std::string& one : choices) all += (all.empty() ? "" : ", ") + one;
  problem_at(key, "'" + *text + "' is not one of " + all);
  return fallback;
}

std::vector<YamlNode> YamlNode::list(std::string_view key) const {
  YamlItem* item = below(key);
  if (!usable(item->node)) return {};
  if (!item->node.IsSequence()) {
    state_->note(item->line, item->path, "must be a list");
    return {};
  }
  return YamlNode(state_, item).items();
}

std::vector<YamlNode> YamlNode::items() const {
  std::vector<YamlNode> out;
  if (!is_list()) return out;
  if (item_->elements.empty()) {
    std::size_t index = 0;
    for (const auto& element : item_->node) {
      std::string path = item_->path + "[" + std::to_string(index++) + "]";
      item_->elements.push_back(state_->add(element, std::move(path), line_of(element)));
    }
  }
  for (YamlItem* element : item_->elements) out.push_back(YamlNode(state_, element));
  return out;
}

std::vector<std::string> YamlNode::strings(std::string_view key,
                                           std::vector<std::string> fallback) const {
  YamlNode node = any(key);
  if (!node.exists()) return fallback;
  if (node.is_scalar()) return {node.item_->node.Scalar()};
  std::vector<std::string> out;
  for (const YamlNode& item : list(key)) {
    std::optional<std::string> text = item.as_string();
    if (text) out.push_back(std::move(*text));
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> YamlNode::string_map(std::string_view key) const {
  std::vector<std::pair<std::string, std::string>> out;
  YamlNode node = child(key);
  for (const std::string& name : node.keys()) {
    std::optional<std::string> text = node.scalar_at(name);
    if (text) out.emplace_back(name, std::move(*text));
  }
  return out;
}

std::optional<std::string> YamlNode::as_string() const {
  if (is_scalar()) return item_->node.Scalar();
  problem(exists() ? "must be a single value" : "has no value");
  return std::nullopt;
}

void YamlNode::problem(std::string what) const {
  state_->note(item_->line, item_->path, std::move(what));
}

void YamlNode::problem_at(std::string_view key, std::string what) const {
  YamlItem* item = below(key);
  state_->note(item->line, item->path, std::move(what));
}

void YamlNode::finish() const {
  std::vector<std::string> known;
  for (const auto& [key, item] : item_->children) known.push_back(key);
  if (!item_->finished && is_map()) {
    item_->finished = true;
    for (const auto& pair : item_->node) {
      if (!pair.first.IsScalar()) continue;
      const std::string& key = pair.first.Scalar();
      if (item_->children.contains(key)) continue;
      std::string what = "unknown key";
      std::optional<std::string> hint = nearest_name(key, known);
      if (hint) what += " (did you mean '" + *hint + "'?)";
      state_->note(line_of(pair.first), join(item_->path, key), std::move(what));
    }
  }
  for (const auto& [key, item] : item_->children) YamlNode(state_, item).finish_reached();
  for (YamlItem* element : item_->elements) YamlNode(state_, element).finish_reached();
}

// A map of which nothing was asked was taken as it is (any()): its keys are the caller's business.
void YamlNode::finish_reached() const {
  if (!item_->children.empty() || !item_->elements.empty()) finish();
}

Result<YamlDocument> YamlDocument::load_file(const std::string& file) {
  constexpr std::size_t kMostBytes = 16u << 20;
  std::ifstream in(file, std::ios::binary);
  if (!in) return errno_error(errno, file);
  std::string text(kMostBytes + 1, '\0');
  errno = 0;
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return errno_error(errno, file);
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMostBytes) return Error(ErrorCode::too_large, file + ": over 16MiB");
  return parse(file, text);
}

Result<YamlDocument> YamlDocument::parse(std::string name, const std::string& text) {
  auto state = std::make_shared<YamlState>();
  state->file = std::move(name);
  try {
    state->add(YAML::Load(text), "", 1);
  } catch (const YAML::Exception& problem) {
    const std::string line =
        problem.mark.is_null() ? "" : ":" + std::to_string(problem.mark.line + 1);
    return Error(ErrorCode::invalid, state->file + line + ": " + problem.msg);
  }
  return YamlDocument(std::move(state));
}

YamlNode YamlDocument::root() const { return YamlNode(state_, &state_->items.front()); }

const Problems& YamlDocument::problems() const { return state_->problems; }

std::map<std::string, std::size_t> YamlDocument::lines() const {
  std::map<std::string, std::size_t> out;
  for (const YamlItem& item : state_->items) {
    if (item.node.IsDefined()) out.emplace(item.path, item.line);
  }
  return out;
}

}  // namespace logarithm::config
