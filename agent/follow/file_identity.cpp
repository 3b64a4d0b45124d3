#include "agent/follow/file_identity.h"

#include <algorithm>
#include <array>

#include "common/model/stream.h"

namespace logarithm::agent {
namespace {

// Parts are length-prefixed, so that no two lists of parts give the same bytes.
void append_part(std::string& out, std::string_view part) {
  out += std::to_string(part.size());
  out += ':';
  out += part;
}

bool is_suffix(std::string_view suffix) {
  if (suffix.size() < 2 || suffix.size() > 64) return false;
  if (suffix[0] != '.' && suffix[0] != '-' && suffix[0] != '_') return false;
  const std::string_view word = suffix.substr(1);
  static constexpr std::array<std::string_view, 7> kWords = {"old",  "bak",     "prev",  "save",
                                                             "copy", "rotated", "backup"};
  if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
  const bool digit =
      std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digit && word.find_first_not_of("0123456789.-_:+TZ") == std::string_view::npos;
}

}  // namespace

StreamBase live_base(std::string_view tenant, std::string_view host, const FileSystemId& system,
                     const FileFacts& facts) {
  std::string key = "live ";
  append_part(key, tenant);
  append_part(key, system.network ? std::string_view() : host);
  append_part(key, system.id);
  append_part(key, std::to_string(facts.inode));
  append_part(key, std::to_string(facts.birth));
  return hash_base(key);
}

StreamBase import_base(std::string_view tenant, std::string_view job, std::string_view relative,
                       std::string_view head) {
  std::string key = "import ";
  append_part(key, tenant);
  append_part(key, job);
  append_part(key, relative);
  head = head.substr(0, kHeadBytes);
  append_part(key, head.substr(0, head.find('\n')));
  return hash_base(key);
}

bool same_file(const FileFacts& a, const FileFacts& b) {
  return a.inode == b.inode && a.device == b.device && a.birth == b.birth;
}

bool is_rotation_of(std::string_view name, std::string_view original) {
  if (name.size() <= original.size() || original.empty()) return false;
  if (name.starts_with(original) && is_suffix(name.substr(original.size()))) return true;
  const std::size_t dot = original.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view stem = original.substr(0, dot);
  const std::string_view extension = original.substr(dot);
  return name.starts_with(stem) && name.ends_with(extension) &&
         is_suffix(name.substr(dot, name.size() - original.size()));
}

bool is_rotation_path(std::string_view path, std::string_view original) {
  return directory_of(path) == directory_of(original) &&
         is_rotation_of(name_of(path), name_of(original));
}

std::string directory_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

std::string name_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace logarithm::agent
