#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

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

  // Wrappers (CRI, docker) say per line which output it was, unless the file itself is one.
  bool outputs_may_differ() const {
    return attributes->name != "stdout" && attributes->name != "stderr";
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
  // streams tell; they are flagged as derived.
  Status derive_iterations(BlockingToken& token, const StreamJoin& join, std::vector<Line>& lines);

  // When iterations began that lines of this version may be given, ascending; valid while this
  // lives.
  Result<const std::vector<IterationStart>*> iteration_starts(BlockingToken& token,
                                                              const StreamJoin& join);

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
  JobKey key_;
  std::shared_ptr<JobSnapshot> snapshot_;
  StreamAttributes no_attributes_;
  Damage damage_;
  std::vector<std::vector<StreamJoin>> joins_;
  std::map<std::string, std::vector<IterationStart>> iterations_;  // by process, ascending by time
};

// The iteration that lines of a time were in; absent before the first.
std::optional<std::int64_t> iteration_at(const std::vector<IterationStart>& starts, UnixNanos time);

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
