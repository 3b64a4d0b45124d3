#include "agent/discover/glob.h"

#include <fnmatch.h>

#include <algorithm>

namespace logarithm::agent {
namespace {

std::vector<std::string> components(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (!part.empty() && part != ".") out.emplace_back(part);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return out;
}

bool has_wildcard(const std::string& component) {
  return component.find_first_of("*?[\\") != std::string::npos;
}

bool component_matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0;
}

class Expander {
 public:
  Expander(BlockingToken& token, DirectoryCache& cache, UnixNanos now, std::size_t cap)
      : token_(token), cache_(cache), now_(now), cap_(cap) {}

  void expand(const std::string& directory, const std::vector<std::string>& pattern, std::size_t at,
              int depth) {
    if (depth > kMaxGlobDepth) return;
    const std::string& component = pattern[at];
    const bool last = at + 1 == pattern.size();
    if (component == "**" && !last) expand(directory, pattern, at + 1, depth);
    if (!has_wildcard(component) && !last) {
      expand(directory + "/" + component, pattern, at + 1, depth + 1);
      return;
    }
    // Copied: the listing may move while subdirectories are listed.
    const auto* listed = cache_.list(token_, directory.empty() ? "/" : directory, now_);
    if (listed == nullptr) return;
    const std::vector<DirectoryEntry> entries = *listed;
    for (const DirectoryEntry& entry : entries) {
      const std::string path = directory + "/" + entry.name;
      if (component == "**") {
        if (entry.name.starts_with('.')) continue;
        if (entry.directory) expand(path, pattern, at, depth + 1);
        if (last && !entry.directory) add(path, entry);
      } else if (component_matches(component, entry.name)) {
        if (last) {
          if (!entry.directory) add(path, entry);
        } else if (entry.directory || entry.link) {
          expand(path, pattern, at + 1, depth + 1);
        }
      }
    }
  }

  void walk(const std::string& directory, int depth) {
    if (depth > kMaxGlobDepth) return;
    const auto* listed = cache_.list(token_, directory, now_);
    if (listed == nullptr) return;
    const std::vector<DirectoryEntry> entries = *listed;
    for (const DirectoryEntry& entry : entries) {
      const std::string path = directory + "/" + entry.name;
      if (entry.directory) {
        walk(path, depth + 1);
      } else {
        add(path, entry);
      }
    }
  }

  Walk take() {
    const auto by_path = [](const FoundFile& a, const FoundFile& b) { return a.path < b.path; };
    const auto same = [](const FoundFile& a, const FoundFile& b) { return a.path == b.path; };
    std::sort(out_.files.begin(), out_.files.end(), by_path);
    out_.files.erase(std::unique(out_.files.begin(), out_.files.end(), same), out_.files.end());
    return std::move(out_);
  }

 private:
  void add(const std::string& path, const DirectoryEntry& entry) {
    if (out_.files.size() + out_.other.size() >= cap_) {
      out_.cut = true;
    } else if (entry.file) {
      out_.files.push_back({path, entry.link, *entry.file});
    } else if (!entry.link) {
      out_.other.push_back(path);
    }
  }

  BlockingToken& token_;
  DirectoryCache& cache_;
  UnixNanos now_;
  std::size_t cap_;
  Walk out_;
};

bool match_components(const std::vector<std::string>& glob, std::size_t at,
                      const std::vector<std::string>& path, std::size_t part) {
  while (at < glob.size()) {
    if (glob[at] == "**" && at + 1 == glob.size()) {
      const auto is_hidden = [](const std::string& name) { return name.starts_with('.'); };
      return part < path.size() &&
             std::none_of(path.begin() + static_cast<std::ptrdiff_t>(part), path.end(), is_hidden);
    }
    if (glob[at] == "**") {
      for (std::size_t skip = part; skip <= path.size(); ++skip) {
        if (match_components(glob, at + 1, path, skip)) {
          return true;
        }
        if (skip < path.size() && path[skip].starts_with('.')) return false;
      }
      return false;
    }
    if (part >= path.size() || !component_matches(glob[at], path[part])) return false;
    ++at;
    ++part;
  }
  return part == path.size();
}

}  // namespace

Walk expand_glob(BlockingToken& token, DirectoryCache& cache, std::string_view glob, UnixNanos now,
                 std::size_t cap) {
  Expander expander(token, cache, now, cap);
  const std::vector<std::string> pattern = components(glob);
  if (!pattern.empty()) expander.expand(glob.starts_with('/') ? "" : ".", pattern, 0, 0);
  return expander.take();
}

Walk walk_tree(BlockingToken& token, DirectoryCache& cache, const std::string& root, UnixNanos now,
               std::size_t cap) {
  if (const auto file = regular_file(token, root)) {
    Walk out;
    out.files.push_back({root, false, *file});
    return out;
  }
  Expander expander(token, cache, now, cap);
  expander.walk(root, 0);
  return expander.take();
}

bool glob_matches(std::string_view glob, std::string_view path) {
  return match_components(components(glob), 0, components(path), 0);
}

}  // namespace logarithm::agent
