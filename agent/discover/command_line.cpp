#include "agent/discover/command_line.h"

#include <algorithm>

#include "agent/discover/text.h"

namespace logarithm::agent {
namespace {

constexpr std::string_view kMask = "[redacted]";

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

// "--api-key", "HF_TOKEN", "db.password", but not "--tokenizer-model", "--num-tokens",
// "--keypoints".
bool names_a_secret(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (lower.empty() || !std::all_of(lower.begin(), lower.end(), is_name_char)) return false;
  for (const std::string_view part : {"secret", "password", "passwd", "credential"}) {
    if (lower.find(part) != std::string::npos) return true;
  }
  std::string_view rest = lower;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of("-_."), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (word.ends_with("token") || word.ends_with("key") || word == "keys" || word == "pw") {
      return true;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::string mask_url_password(std::string_view word) {
  const std::size_t scheme = word.find("://");
  if (scheme == std::string_view::npos) return std::string(word);
  const std::size_t host = scheme + 3;
  const std::size_t authority_end = std::min(word.find('/', host), word.size());
  const std::size_t at = word.substr(0, authority_end).rfind('@');
  const std::size_t colon = word.find(':', host);
  if (at == std::string_view::npos || at < host || colon >= at) return std::string(word);
  std::string out(word.substr(0, colon + 1));
  out += kMask;
  out += word.substr(at);
  return out;
}

}  // namespace

std::string redacted_command(std::string_view cmdline) {
  std::string out;
  bool mask_next = false;
  while (!cmdline.empty() && out.size() < kMaxCommand) {
    const std::size_t end = std::min(cmdline.find('\0'), cmdline.size());
    const std::string_view word = cmdline.substr(0, end);
    cmdline.remove_prefix(std::min(end + 1, cmdline.size()));
    if (!out.empty()) out += ' ';
    const std::size_t equals = word.find_first_of("=:");
    const std::string_view name = word.substr(0, equals);
    if (mask_next && !word.starts_with("--")) {
      out += kMask;
      mask_next = false;
    } else if (equals != std::string_view::npos && names_a_secret(name)) {
      out += clean_text(word.substr(0, equals + 1));
      out += kMask;
      mask_next = false;
    } else {
      out += clean_text(mask_url_password(word));
      mask_next = word.starts_with('-') && names_a_secret(word);
    }
  }
  if (out.size() > kMaxCommand) {
    std::size_t cut = kMaxCommand;
    while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xc0) == 0x80) --cut;
    out.resize(cut);
  }
  return out;
}

}  // namespace logarithm::agent
