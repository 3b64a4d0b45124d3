#include "agent/discover/siblings.h"

#include <algorithm>

#include "agent/discover/path_shapes.h"
#include "agent/discover/text.h"

namespace logarithm::agent {
namespace {

struct Split {
  std::string directory, prefix, suffix, rest;  // directory/prefix#suffix[/rest]
};

Split split_family(const std::string& family) {
  const std::size_t mark = family.find('#');
  const std::size_t slash = family.rfind('/', mark);
  const std::size_t end = std::min(family.find('/', mark), family.size());
  Split out;
  out.directory = slash == 0 ? "/" : family.substr(0, slash);
  out.prefix = family.substr(slash + 1, mark - slash - 1);
  out.suffix = family.substr(mark + 1, end - mark - 1);
  out.rest = family.substr(end);
  return out;
}

std::optional<std::int32_t> number_in(const std::string& name, const Split& split) {
  const std::size_t fixed = split.prefix.size() + split.suffix.size();
  if (name.size() <= fixed || !name.starts_with(split.prefix) || !name.ends_with(split.suffix)) {
    return std::nullopt;
  }
  return parse_count(std::string_view(name).substr(split.prefix.size(), name.size() - fixed));
}

}  // namespace

std::optional<FamilyName> family_name(const RankFile& file) {
  if (file.path.find('#') != std::string::npos) return std::nullopt;
  const PathAttributes shape = path_shape(file.path);
  if (shape.family.empty()) return std::nullopt;
  // The process knows its rank, so the number need not prove itself; but it must agree.
  if (shape.rank && *shape.rank == file.rank) return FamilyName{shape.family, false};
  const auto number = shape.rank ? shape.rank : shape.local_rank;
  if (number && number == file.local_rank) return FamilyName{shape.family, true};
  return std::nullopt;
}

std::vector<Sibling> Siblings::find(BlockingToken& token, DirectoryCache& cache,
                                    const std::vector<RankFile>& known, UnixNanos now) {
  for (auto& [name, family] : families_) family.known.clear();
  for (const RankFile& file : known) {
    const auto name = family_name(file);
    if (!name) continue;
    const auto [at, is_new] = families_.try_emplace(file.job + '\n' + name->family);
    Family& family = at->second;
    if (is_new) {
      family.of = file;
      family.local = name->local;
      family.job_start = file.start;
    }
    // A family that starts again (a requeue in the same directory) is the new run's.
    if (!is_new && family.last_alive + kSettle < file.start) {
      family.of = file;
      family.job_start = file.start;
    }
    family.job_start = std::min(family.job_start, file.start);
    family.last_alive = now;
    family.known.insert(name->local ? *file.local_rank : file.rank);
  }
  std::erase_if(families_,
                [&](const auto& entry) { return now - entry.second.last_alive > kLinger; });

  next_due_ = INT64_MAX;
  std::vector<Sibling> out;
  for (auto& [name, family] : families_) {
    look(token, cache, name.substr(name.find('\n') + 1), family, now, out);
  }
  return out;
}

void Siblings::clock_went_back(UnixNanos now) {
  for (auto& [name, family] : families_) {
    family.last_alive = std::min(family.last_alive, now);
    for (auto& [path, noticed] : family.noticed) noticed = std::min(noticed, now);
  }
}

void Siblings::look(BlockingToken& token, DirectoryCache& cache, const std::string& name,
                    Family& family, UnixNanos now, std::vector<Sibling>& out) {
  const Split split = split_family(name);
  const auto* entries = cache.list(token, split.directory, now);
  if (entries == nullptr) return;
  for (const DirectoryEntry& entry : *entries) {
    const auto number = number_in(entry.name, split);
    if (!number || family.known.contains(*number)) continue;
    if (!family.local && family.of.world_size && *number >= *family.of.world_size) continue;
    const std::string path = split.directory + "/" + entry.name + split.rest;
    const auto facts = regular_file(token, path);
    if (!facts || facts->modified < family.job_start - kSlack) continue;
    const UnixNanos noticed = family.noticed.try_emplace(path, now).first->second;
    if (now < noticed + kSettle) {
      next_due_ = std::min(next_due_, noticed + kSettle);
      continue;
    }
    Sibling found;
    found.path = path;
    found.facts = *facts;
    found.of = family.of;
    (family.local ? found.local_rank : found.rank) = *number;
    out.push_back(std::move(found));
  }
}

}  // namespace logarithm::agent
