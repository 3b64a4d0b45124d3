#include "cli/line_text.h"

#include <nlohmann/json.hpp>

namespace logarithm::cli {
namespace {

std::string text_of(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

// Milliseconds are enough to read; JSON has all nine digits.
std::string short_time(const std::string& time) {
  const std::size_t dot = time.find('.');
  if (dot == std::string::npos || dot + 4 > time.size()) return time;
  const std::size_t zone = time.find_first_not_of("0123456789", dot + 1);
  const std::string rest = zone == std::string::npos ? "" : time.substr(zone);
  return time.substr(0, dot + 4) + rest;
}

const char* colour_of(const std::string& severity) {
  if (severity == "fatal" || severity == "critical" || severity == "error") return "\033[31m";
  if (severity == "warning") return "\033[33m";
  if (severity == "debug" || severity == "trace") return "\033[2m";
  return "";
}

std::string upper(std::string word) {
  for (char& c : word) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  }
  return word;
}

}  // namespace

std::string visible(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7f) || c == '\t') {
      out += c;
    } else {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

std::string line_text(const nlohmann::json& line, const LineStyle& style) {
  std::string out;
  const auto add = [&out](const std::string& word) {
    if (word.empty()) return;
    if (!out.empty()) out += ' ';
    out += word;
  };
  const std::string id = text_of(line, "id");
  if (!style.mark.empty()) out = id == style.mark ? ">" : " ";
  if (style.ids) add(id);
  add(short_time(text_of(line, "time")));
  const std::string attempt = text_of(line, "attempt"), rank = text_of(line, "rank");
  if (!attempt.empty()) add("a" + attempt);
  if (!rank.empty()) add("r" + rank);
  add(text_of(line, "stream"));
  const std::string severity = text_of(line, "severity");
  const std::string colour = style.colour ? colour_of(severity) : "";
  if (!severity.empty()) add(colour + upper(severity) + (colour.empty() ? "" : "\033[0m"));
  const std::string text = text_of(line, "text");
  return out + " " + (style.colour ? visible(text) : text);
}

}  // namespace logarithm::cli
