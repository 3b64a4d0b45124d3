#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <random>

#include "tests/unit/agent/follow/follow_fixture.h"

// cases.md, case 47: one file of a network file system, agents on several hosts that all see it,
// and an aggregator that knows who reads it. Agents and the aggregator fall silent, are killed and
// lose what they know at random; whatever happens, each line is stored exactly once, and in the end
// one agent reads. LGR_SEED sets the first seed, LGR_RUNS how many.
namespace logarithm::test {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

// The store keeps each byte of a stream once, whoever sends it, and says who reads.
class SharedStore {
 public:
  struct Sent {
    StreamCheckpoint checkpoint;
    BlockHeader header;
    std::vector<Line> lines;
  };
  explicit SharedStore(const Clock& clock) : clock_(clock) {}

  void put(const Sent& sent) {
    Stream& stream = streams_[sent.checkpoint.stream];
    const StreamCheckpoint& at = sent.checkpoint;
    if (at.head.size() > stream.head.size()) stream.head = at.head;
    stream.last_version = std::max(stream.last_version, at.attributes.version);
    if (stream.ranges.empty() || sent.header.end > stream.ranges.back().end) {
      stream.tail_crc = sent.header.tail_crc;
    }
    stream.ranges.push_back({sent.header.first, sent.header.end});
    stream.ranges = merged(std::move(stream.ranges));
    for (const Line& line : sent.lines) {
      const auto [there, added] = stream.lines.emplace(line.offset, line.raw);
      if (!added && there->second != line.raw) ++conflicts;
    }
  }

  void close(const StreamId& stream) { streams_[stream].closed = true; }

  std::vector<StoredGeneration> stored(const StreamBase& base) const {
    std::vector<StoredGeneration> out;
    for (const auto& [id, stream] : streams_) {
      if (id.base != base) continue;
      StoredGeneration one;
      one.generation = id.generation;
      one.head = stream.head;
      one.ranges = stream.ranges;
      one.tail_crc = stream.tail_crc;
      one.last_version = stream.last_version;
      one.closed = stream.closed;
      out.push_back(std::move(one));
    }
    return out;
  }

  // As aggregator/ingest/leases.h.
  bool acquire(std::size_t agent, Claim claim) {
    heard[agent] = clock_.now();
    const bool vacant = !holder_ || clock_.now() - heard[*holder_] >= seconds(45) ||
                        (claim == Claim::writer && !holder_writes_);
    if (holder_ != agent && !vacant) return false;
    holder_ = agent;
    holder_writes_ = claim == Claim::writer;
    return true;
  }
  void restart() { holder_.reset(); }

  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (const auto& [id, stream] : streams_) {
      for (const auto& [offset, text] : stream.lines) {
        // The end of a line that left before it was whole.
        if (!text.empty()) out.push_back(text);
      }
    }
    return out;
  }

  std::map<std::size_t, MonotonicTime> heard;  // of agents
  std::size_t conflicts = 0;

 private:
  struct Stream {
    std::string head;
    std::vector<Range> ranges;
    std::uint32_t tail_crc = 0, last_version = 0;
    bool closed = false;
    std::map<std::uint64_t, std::string> lines;
  };
  const Clock& clock_;
  std::map<StreamId, Stream> streams_;
  std::optional<std::size_t> holder_;
  bool holder_writes_ = false;
};

// A spool: what is appended waits until it is shipped.
class ShippingLog final : public StreamLog {
 public:
  std::vector<StreamCheckpoint> recovered() const override {
    std::vector<StreamCheckpoint> out;
    for (const auto& [id, checkpoint] : checkpoints_) out.push_back(checkpoint);
    return out;
  }
  KeptStream kept(const StreamId& stream) const override {
    KeptStream out;
    for (const SharedStore::Sent& sent : unsent) {
      if (sent.checkpoint.stream == stream) {
        out.waiting.push_back({sent.header.first, sent.header.end});
      }
    }
    if (const auto at = checkpoints_.find(stream); at != checkpoints_.end()) {
      out.versions.push_back(at->second.attributes);
    }
    return out;
  }
  Status append(BlockingToken&, const StreamCheckpoint& checkpoint,
                const EncodedBlock* block) override {
    checkpoints_[checkpoint.stream] = checkpoint;
    if (checkpoint.closed) ends_.insert(checkpoint.stream);
    if (block == nullptr) return {};
    SharedStore::Sent sent{checkpoint, block->header, {}};
    const auto reader = BlockReader::open(block->bytes);
    const TemplateLookup lookup = [&](TemplateId id) -> std::optional<std::string_view> {
      for (const TemplateDef& one : block->templates) {
        if (one.id == id) return one.text;
      }
      return std::nullopt;
    };
    auto lines = reader->lines(BlockPart::facts | BlockPart::fields | BlockPart::text, lookup);
    if (!lines.ok()) return lines.error();
    sent.lines = std::move(*lines);
    unsent.push_back(std::move(sent));
    return {};
  }
  Status append_gap(BlockingToken&, const StreamCheckpoint& checkpoint, const Gap& gap) override {
    checkpoints_[checkpoint.stream] = checkpoint;
    gaps.push_back(gap);
    return {};
  }
  Result<bool> revive(BlockingToken&, const StreamCheckpoint&, std::vector<Range>&,
                      std::uint64_t&) override {
    return false;
  }
  Status append_processes(BlockingToken&, const std::vector<ProcessInfo>&) override { return {}; }
  bool acknowledged(const StreamId& stream, std::uint64_t offset) const override {
    return std::none_of(unsent.begin(), unsent.end(), [&](const SharedStore::Sent& sent) {
      return sent.checkpoint.stream == stream && sent.header.first < offset;
    });
  }
  Status forget(BlockingToken&, const StreamId& stream) override {
    checkpoints_.erase(stream);
    return {};
  }
  UnixNanos created_at() const override { return created; }

  void ship(SharedStore& store) {
    for (const SharedStore::Sent& sent : std::exchange(unsent, {})) store.put(sent);
    for (const StreamId& stream : std::exchange(ends_, {})) store.close(stream);
  }
  std::deque<SharedStore::Sent> unsent;
  std::vector<Gap> gaps;
  UnixNanos created = 0;

 private:
  std::map<StreamId, StreamCheckpoint> checkpoints_;
  std::set<StreamId> ends_;
};

class Host final : public StreamOracle {
 public:
  Host(std::size_t number, SharedStore& store, FollowClock& clock)
      : number_(number), store_(store), clock_(clock) {
    fs_.network = true;
    options_.inotify = false;
    options_.poll = options_.poll_unwatched = milliseconds(0);
    options_.proc_root = proc_.path();
  }

  void ask(const StreamBase& base, const std::string&, Claim claim) override {
    asked_[base] = claim;
    answers_.erase(base);
  }
  std::optional<wire::StreamState> answer(const StreamBase& base, const std::string&) override {
    const auto found = answers_.find(base);
    return found == answers_.end() ? std::nullopt : std::optional(found->second);
  }
  void drop(const StreamBase& base, const std::string&) override {
    asked_.erase(base);
    answers_.erase(base);
  }
  std::uint64_t sessions() const override { return sessions_; }

  // One look of the follower, and what its connection does meanwhile.
  void step(const std::vector<FollowTarget>& targets) {
    if (!up) return;
    if (!follower_) {
      follower_ =
          std::make_unique<Follower>(options_, fs_, *FollowFixture::rules(), *log_, *this, clock_);
    }
    follower_->set_targets(targets);
    for (int i = 0; i < 50; ++i) {
      talk();
      const auto report =
          pool_.run_and_wait([&](BlockingToken& token) { return follower_->step(token); });
      REQUIRE(report.ok());
      if (!report->more) break;
    }
    talk();
  }
  void kill() {
    was_killed = true;
    follower_.reset();
  }
  // Before it shipped them, the log's lines are lost: they are in the file.
  void lose_state() {
    kill();
    log_ = std::make_unique<ShippingLog>();
    log_->created = clock_.wall_now();
  }
  void connect(bool on) {
    if (on && !connected) ++sessions_;
    connected = on;
  }
  bool reads() const { return follower_ && !follower_->lag().empty() && !left(); }
  bool left() const { return follower_ && follower_->left_to_others() > 0; }
  const ShippingLog& log() const { return *log_; }

  bool up = true;
  bool connected = true;
  bool was_killed = false;

 private:
  void talk() {
    if (!connected) return;
    store_.heard[number_] = clock_.now();
    for (const auto& [base, claim] : asked_) {
      if (answers_.contains(base)) continue;
      wire::StreamState state;
      state.base = base;
      state.leased_elsewhere = claim != Claim::none && !store_.acquire(number_, claim);
      if (!state.leased_elsewhere) state.generations = store_.stored(base);
      answers_[base] = std::move(state);
    }
    log_->ship(store_);
  }

  const std::size_t number_;
  SharedStore& store_;
  FollowClock& clock_;
  TempDir proc_;
  FollowOptions options_;
  FaultSourceFs fs_;
  std::map<StreamBase, Claim> asked_;
  std::map<StreamBase, wire::StreamState> answers_;
  std::uint64_t sessions_ = 1;
  std::unique_ptr<ShippingLog> log_ = std::make_unique<ShippingLog>();
  std::unique_ptr<Follower> follower_;
  WorkerPool pool_{1};
};

class SharedFileModel {
 public:
  explicit SharedFileModel(std::uint64_t seed) : random_(seed) {
    spdlog::set_level(std::getenv("LGR_TRACE") != nullptr ? spdlog::level::info
                                                          : spdlog::level::off);
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      hosts_[i] = std::make_unique<Host>(i, store_, clock_);
      // The first is older than the file, the others' state is younger.
      if (i > 0) hosts_[i]->lose_state();
      hosts_[i]->was_killed = false;
    }
    if (pick(2) == 0) writer_host_ = pick(hosts_.size());
  }

  void run(int actions) {
    for (int i = 0; i < actions; ++i) {
      act();
      step();
      if (pick(8) == 0) clock_.advance(seconds(pick(60)));
      clock_.advance(milliseconds(pick(400)));
    }
    write(true);
    settle();
  }

  void check() {
    CAPTURE(trace_);
    std::vector<std::string> stored = store_.lines(), wanted;
    for (int i = 0; i < next_; ++i) wanted.push_back("line " + std::to_string(i));
    CHECK(store_.conflicts == 0);
    CHECK(stored == wanted);
    std::size_t readers = 0;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (hosts_[i]->reads()) ++readers;
      // One that was away when the file was cut cannot know what was written before.
      if (!hosts_[i]->was_killed) CHECK(hosts_[i]->log().gaps.empty());
      if (writer_host_ == i) CHECK(hosts_[i]->reads());
    }
    CHECK(readers == 1);
  }

 private:
  std::size_t pick(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }
  void write(bool whole) {
    std::ofstream file(dir_.file("rank-0.log"), std::ios::app | std::ios::binary);
    if (half_) file << '\n';
    half_ = false;
    for (std::size_t i = 0; i < 1 + pick(20); ++i) file << "line " << next_++ << '\n';
    if (whole) return;
    file << "line " << next_++;
    half_ = true;
  }
  void act() {
    Host& host = *hosts_[pick(hosts_.size())];
    const std::string number = std::to_string(&host == hosts_[0].get()   ? 0
                                              : &host == hosts_[1].get() ? 1
                                                                         : 2);
    switch (pick(14)) {
      case 0: host.kill(), trace_ += " kill" + number; break;
      case 1: host.lose_state(), trace_ += " lose" + number; break;
      case 2: host.connect(false), trace_ += " cut" + number; break;
      case 3: host.connect(true), trace_ += " join" + number; break;
      case 4:
        host.up = !host.up;
        if (!host.up) host.kill(), host.connect(false);
        if (host.up) host.connect(true);
        trace_ += (host.up ? " up" : " down") + number;
        break;
      case 5:
        store_.restart();
        for (auto& one : hosts_) {
          if (one->connected) one->connect(false), one->connect(true);
        }
        trace_ += " restart";
        break;
      case 6:
        if (pick(4) == 0) truncate();
        break;
      case 7:
        if (pick(3) == 0) {
          writer_host_ = pick(2) == 0 ? std::optional(pick(hosts_.size())) : std::nullopt;
          trace_ += " writer" + (writer_host_ ? std::to_string(*writer_host_) : "-");
        }
        break;
      default: write(pick(4) != 0); break;
    }
  }
  // Only what is stored may be taken away: how much of the rest is lost is another test's claim.
  void truncate() {
    if (next_ == 0) return;
    settle();
    std::filesystem::resize_file(dir_.file("rank-0.log"), 0);
    trace_ += " truncate";
    step();
    clock_.advance(milliseconds(300));
  }
  void settle() {
    if (half_) write(true);
    for (auto& host : hosts_) {
      host->up = true;
      host->connect(true);
    }
    // Until the lease of one that fell silent is another's, and that is known to all.
    for (int i = 0; i < 120; ++i) {
      step();
      clock_.advance(seconds(2));
    }
    trace_ += " settled";
  }
  void step() {
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      std::vector<FollowTarget> targets;
      if (std::filesystem::exists(dir_.file("rank-0.log"))) {
        FollowTarget target;
        target.path = target.open_path = target.name = dir_.file("rank-0.log");
        target.job = "run7";
        target.host = "node" + std::to_string(i);
        if (writer_host_ == i) target.process = target.host + "/1/1";
        targets.push_back(target);
      }
      hosts_[i]->step(targets);
    }
  }

  std::mt19937_64 random_;
  FollowClock clock_;
  SharedStore store_{clock_};
  TempDir dir_;
  std::array<std::unique_ptr<Host>, 3> hosts_;
  std::optional<std::size_t> writer_host_;
  int next_ = 0;
  bool half_ = false;
  std::string trace_;
};

}  // namespace

TEST_CASE("case 47, model: a file that three hosts see is stored once, whoever reads it when") {
  const char* seed_text = std::getenv("LGR_SEED");
  const char* runs_text = std::getenv("LGR_RUNS");
  const std::uint64_t first =
      seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : std::random_device()();
  const int runs = runs_text != nullptr ? std::atoi(runs_text) : 20;
  for (int i = 0; i < runs; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    CAPTURE(seed);
    SharedFileModel model(seed);
    model.run(60);
    model.check();
  }
}

}  // namespace logarithm::test
