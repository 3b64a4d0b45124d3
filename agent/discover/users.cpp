#include "agent/discover/users.h"

#include <fstream>

#include "agent/discover/text.h"

namespace logarithm::agent {

std::string effective_uid(std::string_view status) {
  std::size_t at = status.starts_with("Uid:") ? 0 : status.find("\nUid:");
  if (at == std::string_view::npos) return {};
  std::string_view line = status.substr(status.find(':', at) + 1);
  line = line.substr(0, line.find('\n'));
  for (int field = 0; field < 2; ++field) {
    const std::size_t first = line.find_first_of("0123456789");
    if (first == std::string_view::npos) return {};
    line.remove_prefix(first);
    const std::size_t end = line.find_first_not_of("0123456789");
    if (field == 1) return std::string(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end);
  }
  return {};
}

std::string user_of(const std::string& uid, const std::string& passwd) {
  std::ifstream file(passwd);
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t name = line.find(':');
    if (name == std::string::npos) continue;
    const std::size_t password = line.find(':', name + 1);
    if (password == std::string::npos) continue;
    if (line.compare(password + 1, uid.size() + 1, uid + ":") == 0) {
      return clean_text(line.substr(0, name));
    }
  }
  return uid;
}

}  // namespace logarithm::agent
