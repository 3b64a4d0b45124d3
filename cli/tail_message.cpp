#include "cli/tail_message.h"

#include <nlohmann/json.hpp>

namespace logarithm::cli {
namespace {

constexpr std::string_view kBegin = "{\"lines\":[";

// The end of the JSON object that begins at `at`, 0 when it has none. Only braces and strings
// count: what is inside is parsed by whoever needs it.
std::size_t end_of_object(std::string_view text, std::size_t at) {
  int depth = 0;
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return at + 1;
    }
  }
  return 0;
}

// Takes the lines off the front; what is left is "…]" and the other members.
bool take_lines(std::string_view text, std::size_t& at, std::vector<std::string_view>& lines) {
  while (at < text.size() && text[at] == '{') {
    const std::size_t end = end_of_object(text, at);
    if (end == 0) return false;
    lines.push_back(text.substr(at, end - at));
    at = end;
    if (at < text.size() && text[at] == ',') ++at;
  }
  return at < text.size() && text[at] == ']';
}

Error error_of(const nlohmann::json& problem) {
  if (!problem.is_object()) return Error(ErrorCode::corrupt, problem.dump());
  const int status = problem.value("status", 500);
  std::string detail = problem.value("detail", "no reason given");
  ErrorCode code = ErrorCode::unavailable;
  if (status >= 400 && status < 500 && status != 429) code = ErrorCode::invalid;
  if (status == 404) code = ErrorCode::not_found;
  return Error(code, std::move(detail));
}

}  // namespace

Result<TailMessage> parse_tail_message(std::string_view text) {
  const Error bad(ErrorCode::corrupt, "the server sent a message that is not a tail's");
  TailMessage out;
  std::string rest(text);
  if (text.starts_with(kBegin)) {
    std::size_t at = kBegin.size();
    if (!take_lines(text, at, out.lines)) return bad;
    rest = std::string(kBegin) + std::string(text.substr(at));
  }
  const auto json = nlohmann::json::parse(rest, nullptr, false);
  if (!json.is_object()) return bad;
  if (const auto error = json.find("error"); error != json.end()) {
    out.error = error_of(*error);
    return out;
  }
  const auto cursor = json.find("cursor");
  if (cursor == json.end() || !cursor->is_string()) return bad;
  out.cursor = cursor->get<std::string>();
  const auto live = json.find("live");
  out.live = live != json.end() && live->is_boolean() && live->get<bool>();
  const auto number = [&](const char* name) -> std::uint64_t {
    const auto found = json.find(name);
    return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
  };
  out.skipped = number("skipped");
  out.unreadable = number("unreadable");
  return out;
}

}  // namespace logarithm::cli
