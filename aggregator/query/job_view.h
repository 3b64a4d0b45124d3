#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

// A name that says which output of a process a stream is, not how its file is called.
inline bool is_output(std::string_view name) { return name == "stdout" || name == "stderr"; }

// What a (stream, attribute version) says about its lines, with the process's facts joined.
struct StreamJoin {
  const std::string* job = nullptr;
  std::size_t stream = 0;  // index into JobSnapshot::streams()
  const StreamFacts* facts = nullptr;
  const StreamAttributes* attributes = nullptr;
  std::string stream_text;              // to_text(facts->id)
  std::optional<std::int32_t> attempt;  // the process's, else the stated one, else by time
  std::optional<std::int32_t> rank;     // of lines without a wrapper's rank
  // The process has a rank: it stays, whatever a wrapper says.
  bool rank_is_fixed = false;

  // Lines without an iteration may get one from the process, or from its rank's other files.
  bool may_derive_iteration() const {
    return !attributes->process.empty() || attributes->rank.has_value();
  }
};

// A snapshot with its joins. Pointers into it live as long as it does. Used by one worker at a
// time.
class JobView {
 public:
  JobView(JobKey key, std::shared_ptr<JobSnapshot> snapshot);

  const JobKey& key() const { return key_; }
  const std::string& job() const { return key_.job; }
  JobSnapshot& snapshot() const { return *snapshot_; }

  // The join for a block; never null (a stream without any version gets an empty one).
  const StreamJoin* join_of(const BlockRef& block) const;
  // All joins of a stream, ascending by version; at least one.
  const std::vector<StreamJoin>& joins(std::size_t stream) const { return joins_[stream]; }
  // The join in force at `offset` of a stream.
  const StreamJoin* join_at(std::size_t stream, std::uint64_t offset) const;
  std::optional<std::size_t> find_stream(const StreamId& id) const;

  // Gives lines whose stream said no iteration the one that their process was in, as its other
  // streams tell; they are flagged as derived. Never one that only their own stream says, and
  // behind them. `lines`: of one stream, ascending by offset.
  Status derive_iterations(BlockingToken& token, const StreamJoin& join, std::vector<Line>& lines);

  // Where and when (the earliest time) a stream said an iteration.
  struct Saying {
    std::uint64_t offset = 0;
    UnixNanos time = 0;
  };
  using OwnSayings = std::map<std::int64_t, Saying>;
  // The same for lines of which little is known. Valid while this view lives.
  struct Derivation {
    const std::vector<IterationStart>* starts = nullptr;  // ascending by time
    OwnSayings own;                                       // what their own stream says
    std::optional<std::int64_t> at(std::uint64_t offset, UnixNanos time) const;
  };
  // For lines of this version at `from` or behind, and not later than `latest`.
  Result<Derivation> derive(BlockingToken& token, const StreamJoin& join, std::uint64_t from,
                            UnixNanos latest);

  // Blocks that could not be read. An answer leaves them out and its completeness says so: one bad
  // sector must not hide the rest of a job.
  struct Damage {
    std::set<std::pair<StreamId, std::uint64_t>> blocks;  // (stream, first offset)
    std::uint64_t lines = 0;                              // in them
  };
  // True, and noted, when `error` means that the block is damaged.
  bool note_damage(const BlockRef& block, const Error& error);
  const Damage& damage() const { return damage_; }
  void take_damage(Damage damage) { damage_ = std::move(damage); }

 private:
  Result<OwnSayings> said_behind(BlockingToken& token, const StreamJoin& join, std::uint64_t from,
                                 UnixNanos latest);
  Status take_sayings(BlockingToken& token, const BlockRef& block, OwnSayings& out);

  JobKey key_;
  std::shared_ptr<JobSnapshot> snapshot_;
  StreamAttributes no_attributes_;
  Damage damage_;
  std::vector<std::vector<StreamJoin>> joins_;
  std::map<std::string, std::vector<IterationStart>> iterations_;  // by process, ascending by time
};

// A line with what is joined to it. Valid while its JobView lives.
struct QueryLine {
  Line line;
  const StreamJoin* join = nullptr;
};

// Order of all answers: (order time, stream, offset).
struct OrderKey {
  UnixNanos time = 0;
  StreamId stream;
  std::uint64_t offset = 0;
  auto operator<=>(const OrderKey&) const = default;
};
OrderKey key_of(const QueryLine& line);

// Rank as section 1 of the design has it: the process's, else a wrapper's, else the path's.
std::optional<std::int32_t> rank_of(const Line& line, const StreamJoin& join);
// The name that a line's stream goes by: "stdout", "stderr", "kernel" or a path.
std::string_view stream_name(const Line& line, const StreamJoin& join);

}  // namespace logarithm::aggregator
