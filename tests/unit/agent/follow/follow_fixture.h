#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/follow/follower.h"
#include "common/async/worker_pool.h"
#include "common/base/logging.h"
#include "common/block/block_reader.h"
#include "common/io/crc32c.h"
#include "common/model/ranges.h"
#include "common/rules/rule_set.h"
#include "tests/support/temp_dir.h"

namespace logarithm::test {

using namespace logarithm::agent;

// Both clocks move only by advance(), and by `tick` at each look. The wall clock starts at the real
// time, because files carry real stamps.
class FollowClock final : public Clock {
 public:
  MonotonicTime now() const override { return now_ += tick; }
  UnixNanos wall_now() const override { return wall_; }
  boost::asio::awaitable<void> sleep_until(MonotonicTime) override { co_return; }
  void advance(std::chrono::nanoseconds by) {
    now_ += by;
    wall_ += by.count();
  }
  std::chrono::nanoseconds tick{0};

 private:
  mutable MonotonicTime now_{std::chrono::hours(1)};
  UnixNanos wall_ = SystemClock().wall_now();
};

// The spool as follow sees it: checkpoints survive, blocks are decoded into lines at once. Checks
// what every spool may rely on: contiguous blocks that end at their checkpoint, one attribute
// version per block, nothing twice.
class MemoryLog final : public StreamLog {
 public:
  struct Stream {
    std::vector<Line> lines;
    std::vector<Gap> gaps;  // those that lie in no block
    std::vector<BlockHeader> blocks;
    std::vector<Line> again;  // lines of blocks before the position: what was lost
    std::vector<BlockHeader> again_blocks;
    std::size_t closed_told = 0;
    StreamCheckpoint checkpoint;
    std::map<std::uint32_t, StreamAttributes> versions;
  };

  std::vector<StreamCheckpoint> recovered() const override {
    std::vector<StreamCheckpoint> out;
    for (const auto& [id, stream] : streams) {
      if (!forgotten.contains(id)) out.push_back(stream.checkpoint);
    }
    return out;
  }
  Status append(BlockingToken&, const StreamCheckpoint& checkpoint,
                const EncodedBlock* block) override {
    if (full) return Error(ErrorCode::no_space, "full");
    Stream& stream = streams[checkpoint.stream];
    if (block != nullptr) add(stream, checkpoint, *block);
    note(stream, checkpoint);
    return {};
  }
  Status append_gap(BlockingToken&, const StreamCheckpoint& checkpoint, const Gap& gap) override {
    if (full) return Error(ErrorCode::no_space, "full");
    Stream& stream = streams[checkpoint.stream];
    stream.gaps.push_back(gap);
    note(stream, checkpoint);
    return {};
  }
  KeptStream kept(const StreamId& stream) const override {
    KeptStream out;
    if (const auto found = waiting.find(stream); found != waiting.end())
      out.waiting = found->second;
    const auto known = streams.find(stream);
    if (known == streams.end()) return out;
    for (const auto& [number, version] : known->second.versions) out.versions.push_back(version);
    return out;
  }
  Result<bool> revive(BlockingToken&, const StreamCheckpoint&, std::vector<Range>& lost,
                      std::uint64_t& next) override {
    lost = without(std::move(lost), revivable);
    return next++ < 1;
  }
  Status append_processes(BlockingToken&, const std::vector<ProcessInfo>&) override { return {}; }
  bool acknowledged(const StreamId&, std::uint64_t) const override { return true; }
  Status forget(BlockingToken&, const StreamId& stream) override {
    forgotten.insert(stream);
    return {};
  }
  UnixNanos created_at() const override { return created; }

  // What an aggregator that holds all of it answers.
  std::vector<StoredGeneration> stored(const StreamBase& base) const {
    std::vector<StoredGeneration> out;
    for (const auto& [id, stream] : streams) {
      if (id.base != base || stream.blocks.empty()) continue;
      StoredGeneration one;
      one.generation = id.generation;
      one.head = stream.checkpoint.head;
      one.ranges = {{stream.blocks.front().first, stream.blocks.back().end}};
      one.tail_crc = stream.blocks.back().tail_crc;
      one.closed = stream.checkpoint.closed;
      one.last_version = stream.checkpoint.attributes.version;
      out.push_back(one);
    }
    return out;
  }

  std::map<StreamId, Stream> streams;
  std::map<StreamId, std::vector<Range>> waiting;  // not acknowledged
  std::vector<Range> revivable;
  std::set<StreamId> forgotten;
  std::vector<std::string> problems;
  bool full = false;
  UnixNanos created = 0;

 private:
  void add(Stream& stream, const StreamCheckpoint& checkpoint, const EncodedBlock& block) {
    const std::uint64_t expected = stream.blocks.empty() ? 0 : stream.blocks.back().end;
    const bool again = block.header.end <= expected && checkpoint.position == expected;
    if (again) {
      stream.again_blocks.push_back(block.header);
      return decode(checkpoint, block, stream.again);
    }
    if (block.header.first != expected) problem(checkpoint, "block does not follow the last");
    if (block.header.end != checkpoint.position) problem(checkpoint, "checkpoint not at its end");
    if (block.header.attributes_version != checkpoint.attributes.version) {
      problem(checkpoint, "block and checkpoint differ in version");
    }
    decode(checkpoint, block, stream.lines);
    stream.blocks.push_back(block.header);
  }
  void decode(const StreamCheckpoint& checkpoint, const EncodedBlock& block,
              std::vector<Line>& out) {
    Result<BlockReader> reader = BlockReader::open(block.bytes);
    if (!reader.ok()) return problem(checkpoint, reader.error().to_string());
    const TemplateLookup lookup = [&](TemplateId id) -> std::optional<std::string_view> {
      for (const TemplateDef& one : block.templates) {
        if (one.id == id) return one.text;
      }
      return std::nullopt;
    };
    Result<std::vector<Line>> lines =
        reader->lines(BlockPart::facts | BlockPart::fields | BlockPart::text, lookup);
    if (!lines.ok()) return problem(checkpoint, lines.error().to_string());
    for (Line& line : *lines) out.push_back(std::move(line));
  }
  void note(Stream& stream, const StreamCheckpoint& checkpoint) {
    const std::uint64_t end = stream.blocks.empty() ? 0 : stream.blocks.back().end;
    if (checkpoint.position != end) problem(checkpoint, "position is not the end of the blocks");
    if (checkpoint.closed) ++stream.closed_told;
    stream.checkpoint = checkpoint;
    stream.versions[checkpoint.attributes.version] = checkpoint.attributes;
    forgotten.erase(checkpoint.stream);
  }
  void problem(const StreamCheckpoint& checkpoint, const std::string& what) {
    problems.push_back(to_text(checkpoint.stream) + ": " + what);
  }
};

class MemoryOracle final : public StreamOracle {
 public:
  void ask(const StreamBase& base, const std::string&) override { asked.insert(base); }
  std::optional<wire::StreamState> answer(const StreamBase& base, const std::string& job) override {
    if (!connected || !asked.contains(base)) return std::nullopt;
    wire::StreamState state;
    state.base = base;
    state.job = job;
    if (live != nullptr) state.generations = live->stored(base);
    if (const auto found = stored.find(base); found != stored.end()) {
      state.generations = found->second;
    }
    return state;
  }
  void drop(const StreamBase& base, const std::string&) override { asked.erase(base); }
  std::uint64_t sessions() const override { return sessions_begun; }
  std::uint64_t sessions_begun = 0;  // 0: what was acknowledged is not asked about
  bool connected = true;
  const MemoryLog* live = nullptr;  // answers what this log holds
  std::set<StreamBase> asked;
  std::map<StreamBase, std::vector<StoredGeneration>> stored;
};

// The real file system, with faults: the birth time hidden, the Nth read refused; or shared with
// other hosts.
class FaultSourceFs final : public SourceFs {
 public:
  Result<std::unique_ptr<SourceFile>> open(BlockingToken& token, const std::string& path) override {
    if (hit()) return lost();
    if (open_files >= most_open) return Error(ErrorCode::no_space, "too many open files");
    LGR_TRY(auto file, real_.open(token, path));
    return std::unique_ptr<SourceFile>(std::make_unique<File>(*this, std::move(file)));
  }
  Result<FileFacts> stat(BlockingToken& token, const std::string& path) override {
    if (hit()) return lost();
    return tune(real_.stat(token, path));
  }
  Result<std::vector<std::string>> list(BlockingToken& token, const std::string& path) override {
    if (hit()) return lost();
    return real_.list(token, path);
  }

  bool hide_birth = false;
  bool network = false;
  std::optional<std::uint64_t> inode;  // every file says this inode: reuse
  std::optional<std::uint64_t> links;  // every file says so many links
  int fail_at = -1;                    // the call with this number is refused (once)
  int calls = 0;
  std::size_t open_files = 0, most_open = SIZE_MAX;

 private:
  class File final : public SourceFile {
   public:
    File(FaultSourceFs& fs, std::unique_ptr<SourceFile> real) : fs_(fs), real_(std::move(real)) {
      ++fs_.open_files;
    }
    ~File() override { --fs_.open_files; }
    Result<FileFacts> facts(BlockingToken& token) override {
      if (fs_.hit()) return lost();
      return fs_.tune(real_->facts(token));
    }
    Result<std::size_t> read_at(BlockingToken& token, std::uint64_t offset, char* to,
                                std::size_t size) override {
      if (fs_.hit()) return lost();
      return real_->read_at(token, offset, to, size);
    }
    Result<std::optional<std::uint64_t>> next_data(BlockingToken& token,
                                                   std::uint64_t offset) override {
      if (fs_.hit()) return lost();
      return real_->next_data(token, offset);
    }
    std::string current_path(BlockingToken& token) override { return real_->current_path(token); }
    Result<FileSystemId> file_system(BlockingToken& token) override {
      if (fs_.hit()) return lost();
      auto id = real_->file_system(token);
      if (id.ok() && fs_.network) id->network = true;
      return id;
    }

   private:
    FaultSourceFs& fs_;
    std::unique_ptr<SourceFile> real_;
  };
  bool hit() { return calls++ == fail_at; }
  static Error lost() { return Error(ErrorCode::unavailable, "handle lost"); }
  Result<FileFacts> tune(Result<FileFacts> facts) const {
    if (facts.ok() && hide_birth) facts->birth = 0;
    if (facts.ok() && inode) facts->inode = *inode;
    if (facts.ok() && links) facts->links = *links;
    return facts;
  }
  PosixSourceFs real_;
};

// A follower over a directory, with its log, its aggregator and its clock.
class FollowFixture {
 public:
  FollowFixture() {
    spdlog::set_level(std::getenv("LGR_TRACE") != nullptr ? spdlog::level::info
                                                          : spdlog::level::off);
    options.inotify = false;
    options.poll = std::chrono::milliseconds(0);
    options.poll_unwatched = std::chrono::milliseconds(0);
    // Whether a file may still be written is asked of this process alone.
    options.proc_root = proc.path();
    const std::string self = std::to_string(::getpid());
    std::filesystem::create_directory_symlink("/proc/" + self, proc.file(self));
  }

  std::string path(const std::string& name) const { return dir.file(name); }
  void append(const std::string& name, const std::string& text) {
    std::ofstream(path(name), std::ios::app | std::ios::binary) << text;
  }
  void cut(const std::string& name) { std::filesystem::resize_file(path(name), 0); }
  void copy(const std::string& from, const std::string& to) {
    std::filesystem::copy_file(path(from), path(to),
                               std::filesystem::copy_options::overwrite_existing);
  }
  void rename(const std::string& from, const std::string& to) {
    std::filesystem::rename(path(from), path(to));
  }
  void remove(const std::string& name) { std::filesystem::remove(path(name)); }

  FollowTarget target(const std::string& name) const {
    FollowTarget out;
    out.path = out.open_path = out.name = path(name);
    out.job = "run7";
    out.host = "node1";
    return out;
  }
  // The glob: all files whose name starts with `prefix`.
  void glob(const std::string& prefix) {
    std::vector<FollowTarget> targets;
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
      const std::string name = entry.path().filename();
      if (name.starts_with(prefix)) targets.push_back(target(name));
    }
    follower().set_targets(targets);
  }

  Follower& follower() {
    if (!follower_) {
      follower_ = std::make_unique<Follower>(options, fs, *rules(), log, oracle, clock);
    }
    return *follower_;
  }
  // Kills the agent: what is not in the log is gone.
  void kill() {
    stats_before = follower().stats();
    follower_.reset();
  }

  // Steps until nothing is left to do, then lets `by` pass and does so again.
  void run(std::chrono::milliseconds by = std::chrono::milliseconds(60)) {
    steps();
    clock.advance(by);
    steps();
  }
  void steps() {
    for (int i = 0; i < 1000; ++i) {
      if (!step().more) return;
    }
  }
  StepReport step() {
    Result<StepReport> report =
        pool_.run_and_wait([&](BlockingToken& token) { return follower().step(token); });
    if (!report.ok()) log.problems.push_back(report.error().to_string());
    return report.ok() ? *report : StepReport{};
  }
  Status drain() {
    return pool_.run_and_wait([&](BlockingToken& token) { return follower().drain(token); });
  }
  template <typename Function>
  auto blocking(Function function) {
    return pool_.run_and_wait(function);
  }

  // All texts, stream by stream.
  std::vector<std::string> texts() const {
    std::vector<std::string> out;
    for (const auto& [id, stream] : log.streams) {
      for (const Line& line : stream.lines) out.push_back(line.raw);
    }
    return out;
  }
  std::vector<Gap> gaps() const {
    std::vector<Gap> out;
    for (const auto& [id, stream] : log.streams) {
      out.insert(out.end(), stream.gaps.begin(), stream.gaps.end());
    }
    return out;
  }
  // Streams that have lines.
  std::vector<const MemoryLog::Stream*> streams() const {
    std::vector<const MemoryLog::Stream*> out;
    for (const auto& [id, stream] : log.streams) {
      if (!stream.lines.empty()) out.push_back(&stream);
    }
    return out;
  }
  static const RuleSet* rules() {
    static std::vector<RuleProblem> problems;
    static const std::shared_ptr<const RuleSet> set = RuleSet::build({}, problems);
    return set.get();
  }

  TempDir dir, proc;
  FollowOptions options;
  FaultSourceFs fs;
  MemoryLog log;
  MemoryOracle oracle;
  FollowClock clock;
  FollowStats stats_before;

 private:
  std::unique_ptr<Follower> follower_;
  WorkerPool pool_{1};
};

// "prefix 0".."prefix n-1" as lines from `from` on.
inline std::string numbered(int from, int count) {
  std::string out;
  for (int i = from; i < from + count; ++i) out += "line " + std::to_string(i) + " of the run\n";
  return out;
}

inline bool all_different(const std::vector<std::string>& texts) {
  return std::set<std::string>(texts.begin(), texts.end()).size() == texts.size();
}

}  // namespace logarithm::test
