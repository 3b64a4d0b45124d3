#include "agent/discover/discovery.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "agent/discover/text.h"
#include "agent/discover/time_zone.h"

namespace logarithm::agent {
namespace {

constexpr std::size_t kMaxNotCaptured = 500;  // reported one by one
// An empty new file found by a glob is left for a moment: the scan that sees its process will say
// more about it, and there is nothing to read yet.
constexpr UnixNanos kFresh = 2'000'000'000;

std::string relative_to(const std::string& root, const std::string& path) {
  std::string_view rest = path;
  if (path == root) return path.substr(path.rfind('/') + 1);
  if (rest.starts_with(root)) rest.remove_prefix(root.size());
  while (rest.starts_with('/')) rest.remove_prefix(1);
  return std::string(rest);
}

std::string without_trailing_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// A family and that of the other output: few ranks may have anything to say on stderr, and number 0
// nothing.
std::string both_outputs(const std::string& family) {
  const std::size_t mark = family.find('#');
  if (mark == std::string::npos) return family;
  for (const std::string_view word : {"stdout", "stderr", "out", "err"}) {
    const std::size_t at = family.find(word, mark);
    if (at == std::string::npos) continue;
    return family.substr(0, at) + "*" + family.substr(at + word.size());
  }
  return family;
}

// Numbers that are ranks only in a family with 0: no job has that number.
std::map<std::string, bool> proven_families(const std::vector<PathAttributes>& attributes) {
  std::map<std::string, std::set<std::int32_t>> members;
  for (const PathAttributes& one : attributes) {
    if (one.needs_family && one.rank) members[both_outputs(one.family)].insert(*one.rank);
  }
  std::map<std::string, bool> out;
  for (const auto& [family, numbers] : members) {
    out[family] = numbers.contains(0);
  }
  return out;
}

}  // namespace

Result<Discovery::Pattern> Discovery::compile(FilePattern entry) {
  Pattern pattern{.entry = std::move(entry), .regex = std::nullopt};
  if (pattern.entry.path.empty()) return pattern;
  auto regex = UserPathRegex::compile(pattern.entry.path);
  if (!regex.ok()) return regex.error().with_context("path '" + pattern.entry.path + "'");
  pattern.regex = std::move(regex).value();
  return pattern;
}

Result<std::vector<Discovery::Pattern>> Discovery::compile_all(
    const std::vector<FilePattern>& entries) {
  std::vector<Pattern> out;
  for (const FilePattern& entry : entries) {
    LGR_TRY(Pattern pattern, compile(entry));
    out.push_back(std::move(pattern));
  }
  return out;
}

Result<std::unique_ptr<Discovery>> Discovery::make(DiscoveryOptions options) {
  std::unique_ptr<Discovery> out(new Discovery(std::move(options)));
  LGR_TRY(out->patterns_, compile_all(out->options_.files));
  if (const auto& import = out->options_.import) {
    FilePattern entry{.glob = {}, .job = import->job, .path = import->path};
    LGR_TRY(out->import_, compile(std::move(entry)));
  }
  return out;
}

Status Discovery::reconfigure(bool processes, std::vector<FilePattern> files) {
  LGR_TRY(auto patterns, compile_all(files));
  patterns_ = std::move(patterns);
  options_.files = std::move(files);
  options_.processes = processes;
  next_check_ = 0;
  return {};
}

const std::map<std::string, RankProcess>& Discovery::ranks() {
  static const std::map<std::string, RankProcess> kNone;
  return options_.processes ? table_.ranks() : kNone;
}

Discovery::Discovery(DiscoveryOptions options)
    : options_(std::move(options)),
      fs_(options_.proc_root),
      table_(fs_, options_.host, fs_.is_live() ? ::getpid() : 0),
      pipes_(fs_, table_),
      files_(options_.host) {
  exclude_own_files();
}

// Following our own log would feed it.
void Discovery::exclude_own_files() {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status {};
    if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
      own_files_.insert({.device = status.st_dev, .inode = status.st_ino});
    }
  }
  for (std::string& path : options_.exclude) path = without_trailing_slash(std::move(path));
}

bool Discovery::is_excluded(const std::string& path, const ProcFileFacts& facts) const {
  if (own_files_.contains(id_of(facts))) return true;
  return std::any_of(options_.exclude.begin(), options_.exclude.end(), [&](const auto& directory) {
    return path == directory || path.starts_with(directory + "/");
  });
}

void Discovery::leave_out(const std::string& path, const std::string& reason,
                          const std::string& job) {
  left_out_[path] = {.what = clean_text(path), .reason = reason, .job = job};
}

PathAttributes Discovery::attributes_of(const Pattern& pattern, const std::string& path) const {
  if (!pattern.regex) return path_shape(path);
  if (auto attributes = pattern.regex->match(path)) return std::move(*attributes);
  return {};
}

const Discovery::Pattern* Discovery::pattern_for(const std::string& path) const {
  const auto at = std::find_if(patterns_.begin(), patterns_.end(), [&](const Pattern& pattern) {
    return glob_matches(pattern.entry.glob, path);
  });
  return at == patterns_.end() ? nullptr : &*at;
}

bool Discovery::is_too_fresh(BlockingToken& token, const FoundFile& found, UnixNanos now) {
  if (!options_.processes || found.facts.size != 0 || files_.contains(id_of(found.facts))) {
    return false;
  }
  const auto facts = regular_file(token, found.path);
  if (!facts || facts->size != 0) return false;
  if (facts->modified > now || now - facts->modified >= kFresh) return false;
  next_check_ = std::min(next_check_, now + ProcessTable::kMinRecheck);
  return true;
}

void Discovery::take_walk(BlockingToken& token, const Walk& walk, const Pattern& pattern,
                          const std::string& import_root, UnixNanos now) {
  const bool imported = !import_root.empty();
  const std::string& job = pattern.entry.job;
  const std::string& what = imported ? import_root : pattern.entry.glob;
  if (walk.cut) leave_out(what, "too many files", job);
  for (const std::string& path : walk.other) leave_out(path, "not a regular file", job);

  std::vector<PathAttributes> attributes;
  attributes.reserve(walk.files.size());
  for (const FoundFile& found : walk.files)
    attributes.push_back(attributes_of(pattern, found.path));
  const auto proven = proven_families(attributes);
  for (std::size_t i = 0; i < walk.files.size(); ++i) {
    const FoundFile& found = walk.files[i];
    PathAttributes& known = attributes[i];
    if (is_excluded(found.path, found.facts)) {
      leave_out(found.path, "the agent's own file", job);
      continue;
    }
    // It stays a target: rights may be given later.
    if (is_denied(found.path)) leave_out(found.path, "permission denied", job);
    if (compressed_.check(token, found.path, found.facts)) {
      leave_out(found.path, "compressed", job);
      continue;
    }
    const bool fresh = !imported && is_too_fresh(token, found, now);
    if (pattern.regex && !pattern.regex->match(found.path)) {
      leave_out(found.path, "followed, but without rank: its name does not match `path`", job);
    }
    if (known.needs_family && known.rank && !proven.at(both_outputs(known.family))) {
      known.rank.reset();
    }
    FileRegistry::Configured file{.path = found.path,
                                  .link = found.link,
                                  .facts = found.facts,
                                  .attributes = known,
                                  .job = job,
                                  .relative = {},
                                  .utc_offset_minutes = std::nullopt,
                                  .open_path = {}};
    if (file.job.empty() && pattern.regex) file.job = known.job;
    if (imported) {
      file.relative = relative_to(import_root, found.path);
      if (!options_.import->tz.empty()) {
        // As of then: daylight saving may have changed since.
        file.utc_offset_minutes =
            utc_offset_minutes(token, options_.import->tz, found.facts.modified);
      }
    }
    if (fresh && fresh_.hold(token, file)) continue;
    files_.add_configured(file);
  }
}

void Discovery::walk_configured(BlockingToken& token, UnixNanos now) {
  fresh_.begin();
  for (const Pattern& pattern : patterns_) {
    const Walk walk = expand_glob(token, directories_, pattern.entry.glob, now, kMaxFiles);
    take_walk(token, walk, pattern, {}, now);
  }
  for (const FileRegistry::Configured& file : fresh_.vanished(token)) files_.add_configured(file);
  if (!import_) return;
  for (const std::string& given : options_.import->roots) {
    const std::string root = without_trailing_slash(given);
    const Walk walk = walk_tree(token, directories_, root, now, kMaxFiles);
    if (walk.files.empty() && ::access(root.c_str(), R_OK) != 0) {
      leave_out(root, "not readable", options_.import->job);
    }
    take_walk(token, walk, *import_, root, now);
  }
}

void Discovery::find_siblings(BlockingToken& token, UnixNanos now) {
  std::map<std::string, const RankProcess*> writers;
  for (const auto& [key, rank] : table_.ranks()) {
    if (!rank.info.exit && rank.info.rank) writers.emplace(key, &rank);
  }
  std::vector<RankFile> known;
  for (FollowTarget& target : files_.targets()) {
    const auto writer = writers.find(target.process);
    if (writer == writers.end() || (target.name != "stdout" && target.name != "stderr")) continue;
    const ProcessInfo& info = writer->second->info;
    known.push_back({.path = std::move(target.path),
                     .stream = target.name,
                     .aliases = {},
                     .job = target.job,
                     .rank = *info.rank,
                     .local_rank = info.local_rank,
                     .world_size = info.world_size,
                     .attempt = info.stated_attempt,
                     .utc_offset_minutes = target.utc_offset_minutes,
                     .start = info.start});
    if (!target.aliases.empty() && target.aliases.front() == "stderr") {
      known.back().aliases.push_back("stderr");
    }
  }
  for (Sibling& sibling : siblings_.find(token, directories_, known, now)) {
    if (is_excluded(sibling.path, sibling.facts)) continue;
    const FileRegistry::Orphan orphan{.path = std::move(sibling.path),
                                      .facts = sibling.facts,
                                      .job = sibling.of.job,
                                      .stream = sibling.of.stream,
                                      .aliases = sibling.of.aliases,
                                      .attempt = sibling.of.attempt,
                                      .rank = sibling.rank,
                                      .local_rank = sibling.local_rank,
                                      .utc_offset_minutes = sibling.of.utc_offset_minutes};
    files_.add_orphan(orphan);
  }
  next_check_ = std::min(next_check_, siblings_.next_due());
}

Result<Discovered> Discovery::scan(BlockingToken& token, UnixNanos now) {
  if (now < last_scan_) {  // else everything would wait until the clock is there again
    table_.clock_went_back(now);
    siblings_.clock_went_back(now);
  }
  next_check_ = now + kMaxPause;
  last_scan_ = now;
  left_out_.clear();
  files_.begin();
  // Before the processes: a file that is found here and has a writer is then found with it.
  walk_configured(token, now);
  if (options_.processes) {
    LGR_CHECK(table_.scan(token, now));
    for (auto& [key, rank] : table_.ranks()) inspect(token, rank, now);
    find_siblings(token, now);
  }
  files_.end(token, ranks(), now);
  directories_.forget_unused();

  Discovered out;
  out.targets = files_.targets();
  out.processes = table_.take_changes(now);
  out.not_captured = list_not_captured();
  return out;
}

std::vector<wire::NotCaptured> Discovery::list_not_captured() {
  std::vector<wire::NotCaptured> out;
  for (const auto& [key, rank] : ranks()) {
    for (const auto& [name, reason] : rank.reasons) {
      out.push_back(
          {.what = "process " + rank.info.host + "/" + std::to_string(rank.info.pid) + " " + name,
           .reason = reason,
           .job = rank.info.job});
    }
  }
  for (const auto& [path, entry] : left_out_) out.push_back(entry);
  if (table_.unreadable() > 0) {
    out.push_back({.what = "environment of " + std::to_string(table_.unreadable()) + " processes",
                   .reason = "permission denied",
                   .job = {}});
  }
  if (out.size() > kMaxNotCaptured) {
    const std::size_t more = out.size() - kMaxNotCaptured;
    out.resize(kMaxNotCaptured);
    out.push_back({.what = std::to_string(more) + " more", .reason = "list cut", .job = {}});
  }
  return out;
}

void Discovery::map_process(const MappedProcess& mapped, UnixNanos at) {
  const ProcessMapping& line = mapped.mapping;
  const bool here = line.host.empty() || line.host == options_.host ||
                    std::find(options_.own_names.begin(), options_.own_names.end(), line.host) !=
                        options_.own_names.end();
  if (!here || !line.rank) return;
  const RankMention mention{*line.rank, line.local_rank, line.world_size, mapped.job};
  if (line.pid) return table_.mention(*line.pid, mention, mapped.writer, at);
  // A line without a pid speaks of its writer, whom we know by the host's pid.
  const auto writer = table_.ranks().find(mapped.writer);
  if (writer == table_.ranks().end() || writer->second.info.exit) return;
  table_.mention(writer->second.info.pid, mention, std::string(), at);
}

bool Discovery::changed_hint(BlockingToken& token, UnixNanos now) {
  if (now < last_scan_ || now >= next_check_) return true;
  if (directories_.changed(token, now)) return true;
  return options_.processes && table_.changed_hint(token, now);
}

}  // namespace logarithm::agent
