#include <algorithm>
#include <charconv>
#include <utility>

#include "agent/follow/file_identity.h"
#include "agent/follow/import_zone.h"
#include "agent/follow/tail.h"
#include "common/base/logging.h"

// Which file is which: targets to inodes, names, attribute versions.
namespace logarithm::agent {
namespace {

constexpr std::ptrdiff_t kMostPaths = 16;

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
  names.push_back(name);
}

// The start time in "<host>/<pid>/<start>"; 0 when there is none.
UnixNanos start_of(std::string_view process_key) {
  const std::size_t slash = process_key.rfind('/');
  if (slash == std::string_view::npos) return 0;
  UnixNanos start = 0;
  std::from_chars(process_key.data() + slash + 1, process_key.data() + process_key.size(), start);
  return start;
}

}  // namespace

void Follower::set_targets(std::vector<FollowTarget> targets) {
  ++scans_;
  wants_scan_ = false;
  // Originals before what may be their rotated copies: a rotation only makes a name longer.
  std::stable_sort(targets.begin(), targets.end(),
                   [](const auto& a, const auto& b) { return a.path.size() < b.path.size(); });
  const bool same =
      targets_known_ && std::equal(targets.begin(), targets.end(), targets_.begin(), targets_.end(),
                                   [](const FollowTarget& facts, const auto& target) {
                                     return facts == target->facts;
                                   });
  if (same) return;
  std::map<std::pair<std::string, std::string>, Tail*> bound;
  std::map<std::pair<std::string, std::string>, bool> done;
  for (const auto& target : targets_) {
    bound[{target->facts.path, target->facts.open_path}] = target->tail;
    done[{target->facts.path, target->facts.open_path}] = target->done;
  }
  for (auto& [base, tail] : tails_) tail->targets.clear();
  targets_.clear();
  targets_by_path_.clear();
  for (FollowTarget& facts : targets) {
    auto target = std::make_unique<Target>();
    target->facts = std::move(facts);
    const std::pair<std::string, std::string> key{target->facts.path, target->facts.open_path};
    if (const auto old = bound.find(key); old != bound.end()) {
      bind(*target, old->second);
      target->done = done[key];
    }
    targets_.push_back(std::move(target));
  }
  if (!targets_known_) orphans_at_ = clock_.now() + options_.rotate_wait;
  targets_known_ = targets_changed_ = true;
}

void Follower::bind(Target& target, Tail* tail) {
  if (target.tail == tail && tail != nullptr &&
      std::find(tail->targets.begin(), tail->targets.end(), &target) != tail->targets.end()) {
    return;
  }
  if (target.tail != nullptr) {
    std::erase(target.tail->targets, &target);
    target.tail->moved = target.tail->facts_changed = true;
  }
  target.tail = tail;
  if (tail != nullptr) {
    tail->targets.push_back(&target);
    tail->facts_changed = true;
    add_name(tail->paths, target.facts.path);
    tail->last_attributes = wanted_attributes(*tail);
  }
}

void Follower::look_at_targets(BlockingToken& token, bool all) {
  for (const auto& target : targets_) {
    if (target->done) continue;
    if (all || !target->looked) look_at_target(token, *target);
  }
  if (all && !orphans_done_ && !options_.once) adopt_orphans(token);
  for (auto& [base, tail] : tails_) {
    if (!tail->targets.empty()) {
      tail->unnamed_since.reset();
    } else if (!tail->unnamed_since) {
      tail->unnamed_since = now_;
    }
  }
}

void Follower::look_at_target(BlockingToken& token, Target& target) {
  target.looked = true;
  std::string path = target.facts.open_path.empty() ? target.facts.path : target.facts.open_path;
  Result<FileFacts> found = fs_.stat(token, path);
  if (!found.ok() && path != target.facts.path) {
    path = target.facts.path;
    found = fs_.stat(token, path);
  }
  if (!found.ok()) {
    // Gone, or unreadable for now. The descriptor stays with its tail, which is drained; the name
    // is looked for again each time.
    if (target.tail != nullptr && found.error().code() == ErrorCode::not_found) {
      bind(target, nullptr);
    }
    target.done = options_.once;
    return;
  }
  Tail* tail = target.tail;
  if (tail == nullptr || !same_file(*found, tail->file.facts())) {
    const std::uint64_t waiting = stats_.open_waits;
    tail = find_or_make(token, path, &target.facts, target.facts.host);
    if (tail == nullptr) {
      target.done = options_.once && stats_.open_waits == waiting;
      return;
    }
    bind(target, tail);
  }
  if (found->links == 0 && path == target.facts.path && !std::exchange(target.stale, true)) {
    ++stats_.stale_names;
    LGR_WARN(
        "the file was removed, and its name still leads to it: a mount of the single file? "
        "What is written to its successor cannot be seen; mount the directory path={}",
        path);
  }
  if (options_.once && found->size == 0 && tail->state == Tail::State::fresh) target.done = true;
  const std::uint64_t read = tail->state == Tail::State::live     ? tail->writer->next_read()
                             : tail->state == Tail::State::closed ? tail->closed_at_size
                                                                  : 0;
  if (tail->state == Tail::State::closed) {
    if (options_.once || found->size == read) return;
    tail->state = Tail::State::fresh;  // it grew or was cut after its end: known, so resumed
  }
  if (found->size != read) tail->changed = true;
  const bool wanted = found->size != read || tail->state == Tail::State::fresh;
  if (!tail->file.is_open() && wanted && tail->state != Tail::State::copy &&
      tail->file.may_reopen(now_)) {
    if (!tail->file.reopen(token, fs_, path).ok()) tail->file.postpone(now_);
    tail->changed = true;
  }
}

Follower::Tail* Follower::find_or_make(BlockingToken& token, const std::string& path,
                                       const FollowTarget* target, const std::string& host) {
  Result<std::unique_ptr<SourceFile>> file = fs_.open(token, path);
  Result<FileFacts> facts = file.ok() ? (*file)->facts(token) : Result<FileFacts>(file.error());
  Result<FileSystemId> system =
      facts.ok() ? (*file)->file_system(token) : Result<FileSystemId>(facts.error());
  if (!system.ok()) {
    // Out of descriptors: they come back when other files were read.
    if (system.error().code() == ErrorCode::no_space) {
      ++stats_.open_waits;
    } else {
      ++stats_.open_errors;
    }
    return nullptr;
  }
  StreamBase base = live_base(options_.tenant, host, *system, *facts);
  const bool imported = target != nullptr && !target->import_base.empty();
  if (imported) {
    if (facts->size == 0) return nullptr;
    const std::uint64_t some = std::min<std::uint64_t>(facts->size, kHeadBytes);
    Result<std::string> head = read_range(token, **file, 0, some);
    if (!head.ok()) return nullptr;
    base = import_base(options_.tenant, target->job, target->import_base, *head);
  }
  auto found = tails_.find(base);
  if (found == tails_.end()) {
    auto tail = std::make_unique<Tail>(base, TailedFile(path, std::move(*file), *facts));
    tail->network = system->network;
    tail->file.trust_times(!system->network);
    tail->imported = imported;
    if (imported && !target->utc_offset_minutes) {
      tail->import_zone = estimate_import_zone(token, parts_, tail->file.file(), *facts);
    }
    if (imported) {
      tail->import_boot = estimate_import_boot(token, parts_, tail->file.file(), *facts);
    }
    tail->host = host;
    if (system->network) {
      all_watched_ = false;
      next_poll_ = std::min(next_poll_, now_ + options_.poll_unwatched);
    }
    found = tails_.emplace(base, std::move(tail)).first;
  } else if (!found->second->file.is_open() && found->second->state != Tail::State::copy) {
    found->second->file.set_facts(*facts);
    Status opened = found->second->file.reopen(token, fs_, path);
    if (!opened.ok()) found->second->file.postpone(now_);
  }
  add_name(found->second->paths, path.starts_with("/proc/") && target ? target->path : path);
  found->second->changed = found->second->facts_changed = true;
  return found->second.get();
}

StreamAttributes Follower::wanted_attributes(const Tail& tail) const {
  StreamAttributes out;
  const Target* first = nullptr;
  for (const Target* target : tail.targets) {
    if (first == nullptr || (first->facts.process.empty() && !target->facts.process.empty())) {
      first = target;
    }
  }
  if (first == nullptr) return tail.last_attributes;
  const FollowTarget& facts = first->facts;
  out.job = facts.job;
  out.process = facts.process;
  if (!facts.holders.empty()) out.run_of = facts.holders.front();
  out.attempt = facts.attempt;
  out.rank = facts.rank;
  out.local_rank = facts.local_rank;
  out.rank_source = facts.rank_source;
  out.labels = facts.labels;
  out.host = facts.host;
  out.name = facts.name.empty() ? facts.path : facts.name;
  for (const Target* target : tail.targets) {
    for (const std::string& alias : target->facts.aliases) add_name(out.aliases, alias);
    // A second name of the same bytes; further paths are listed as paths.
    if (target->facts.name != target->facts.path) add_name(out.aliases, target->facts.name);
  }
  std::erase(out.aliases, out.name);
  out.paths = tail.paths;
  return out;
}

StreamContext Follower::context_of(const Tail& tail, const StreamAttributes& attributes) const {
  StreamContext context;
  context.process_rank = attributes.rank;
  context.rank_from_process = attributes.rank.has_value() && attributes.rank_source != "path";
  context.stream_name = attributes.name;
  context.imported = tail.imported;
  context.utc_offset_minutes = tail.import_zone;
  context.boot = tail.import_boot;
  for (const Target* target : tail.targets) {
    context.slurm_step = context.slurm_step || target->facts.slurm_step;
    if (target->facts.utc_offset_minutes) {
      context.utc_offset_minutes = target->facts.utc_offset_minutes;
    }
  }
  return context;
}

// Facts that are learned correct the version that is there; another writer, job, attempt or rank
// begins a new one. Facts that go away (the process ended) stay.
Status Follower::update_attributes(BlockingToken& token, Tail& tail) {
  const StreamAttributes& old = tail.writer->attributes();
  StreamAttributes wanted = wanted_attributes(tail);
  std::vector<std::string> paths;
  for (const std::string& path : old.paths) {
    if (std::find(tail.paths.begin(), tail.paths.end(), path) == tail.paths.end()) {
      paths.push_back(path);
    }
  }
  paths.insert(paths.end(), tail.paths.begin(), tail.paths.end());
  if (std::ssize(paths) > kMostPaths) paths.erase(paths.begin(), paths.end() - kMostPaths);
  std::vector<std::string> aliases = old.aliases;
  for (const std::string& alias : wanted.aliases) add_name(aliases, alias);
  const bool shared = std::any_of(tail.targets.begin(), tail.targets.end(),
                                  [](const Target* target) { return target->facts.shared; });
  // Who else shares it makes no difference while it is the same run.
  const bool same_run =
      !old.run_of.empty() &&
      std::any_of(tail.targets.begin(), tail.targets.end(), [&](const Target* target) {
        const std::vector<std::string>& holders = target->facts.holders;
        return std::find(holders.begin(), holders.end(), old.run_of) != holders.end();
      });
  if (same_run) wanted.run_of = old.run_of;
  const bool forgot = tail.targets.empty() ||
                      (!shared && wanted.process.empty() &&
                       !(old.process.empty() && old.run_of.empty()) && wanted.job == old.job);
  if (forgot) {
    wanted = old;
  } else if (std::find(paths.begin(), paths.end(), wanted.name) != paths.end()) {
    wanted.name = old.name;  // a rename does not change what the stream is called
  }
  wanted.paths = std::move(paths);
  wanted.aliases = std::move(aliases);
  std::erase(wanted.aliases, wanted.name);
  wanted.version = old.version;
  wanted.from = old.from;
  if (wanted == old) {
    tail.shared = tail.shared || shared;
    tail.facts_changed = false;
    return {};
  }

  const bool nothing_yet = old.from == tail.writer->position() && !tail.writer->pending();
  const std::string& writer = wanted.process.empty() ? wanted.run_of : wanted.process;
  const bool learned = !tail.shared && old.process.empty() && old.run_of.empty() &&
                       wanted.job == old.job &&
                       tail.file.facts().birth + 5'000'000'000 >= start_of(writer);
  const bool same_writer =
      wanted.process == old.process && wanted.job == old.job && wanted.run_of == old.run_of &&
      (!old.attempt || old.attempt == wanted.attempt) && (!old.rank || old.rank == wanted.rank);
  if (nothing_yet || learned || same_writer || forgot) {
    tail.writer->correct(wanted);
    tail.shared = tail.shared || shared;
  } else {
    if (tail.writer->blocked()) return {};
    if (tail.writer->unfinished()) tail.writer->flush(StreamParser::Flush::idle, wall_, now_);
    LGR_CHECK(tail.writer->commit(token));
    tail.writer->next_version(wanted);
    tail.shared = shared;
  }
  tail.writer->set_context(context_of(tail, wanted));
  LGR_CHECK(tail.writer->commit_facts(token));
  tail.facts_changed = false;
  return {};
}

// Asks the descriptor where its file lies now, so that a rename shows up even where no target
// covers the new name.
void Follower::note_path(BlockingToken& token, Tail& tail) {
  if (!tail.file.is_open() || tail.imported) return;
  const std::string path = tail.file.file().current_path(token);
  if (path.empty() || (!tail.paths.empty() && tail.paths.back() == path)) return;
  std::erase(tail.paths, path);
  tail.paths.push_back(path);
  tail.facts_changed = true;
  if (std::ssize(tail.paths) > kMostPaths) tail.paths.erase(tail.paths.begin());
}

// Streams of the last run that no target names (their process ended while we were away): found by
// their last path, or under a rotated name beside it, read to the end and closed.
void Follower::adopt_orphans(BlockingToken& token) {
  const bool last_chance = now_ >= orphans_at_;
  for (const auto& [base, generations] : known_) {
    const StreamCheckpoint& newest = generations.rbegin()->second;
    if (newest.closed || tails_.contains(base)) continue;
    const SourceState source = parse_source_state(newest.source);
    if (source.imported || source.path.empty()) continue;
    std::vector<std::string> paths{source.path};
    const std::string directory = directory_of(source.path);
    if (Result<Names> names = fs_.list(token, directory); names.ok()) {
      for (const std::string& name : *names) {
        if (is_rotation_of(name, name_of(source.path))) paths.push_back(directory + "/" + name);
      }
    }
    bool adopted = false;
    for (const std::string& path : paths) {
      Result<FileFacts> facts = fs_.stat(token, path);
      if (!facts.ok() || facts->inode != source.inode || facts->birth != source.birth) continue;
      Tail* tail = find_or_make(token, path, nullptr, newest.attributes.host);
      adopted = tail != nullptr && tail->base == base;
      if (adopted) break;
    }
    if (!adopted && last_chance) end_unwatched(token, newest, "deleted", nullptr);
  }
  orphans_done_ = last_chance;
}

}  // namespace logarithm::agent
