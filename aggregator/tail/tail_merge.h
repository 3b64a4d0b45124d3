#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "aggregator/query/block_rows.h"
#include "aggregator/query/job_view.h"
#include "aggregator/query/pruner.h"
#include "aggregator/tail/block_lookup.h"
#include "aggregator/tail/decoded_blocks.h"
#include "aggregator/tail/unsent.h"
#include "common/base/clock.h"

namespace logarithm::aggregator {

// How far a tail is with one stream.
struct TailStream {
  Unsent unsent;
  bool wanted = true;  // its attributes let lines of it pass
  // The latest time so far: lines of a stream leave in the order of their offsets, and for the
  // order between streams a line is never earlier than the one before it.
  UnixNanos latest = std::numeric_limits<UnixNanos>::min();
  // A hole that nobody explains is in the way since then: what belongs there is on its way again.
  std::optional<MonotonicTime> waiting_since;
  bool holes_are_old = false;  // those there are now were there before the tail began
};

struct TailMergeOptions {
  std::size_t opened_bytes = 64u << 20;  // decoded at once, about
  std::chrono::nanoseconds hole_patience = std::chrono::seconds(5);
  std::size_t max_holes = 64;  // remembered per stream
};

enum class MergeEnd : std::uint8_t {
  everything,  // all that is stored was given or passed over (or waits behind a hole)
  full,        // the sink had enough
  time         // the time was up
};

// One turn of one tail over one view: gives unsent lines that fulfil the plan, of each stream in
// the order of offsets, of several about in the order of time (exactly, but for more decoded bytes
// than the options allow), and takes what it gave or passed over out of the streams' unsent ranges.
class TailMerge {
 public:
  // Returns true to go on.
  using Sink = std::function<bool(DecodedBlock& block, std::size_t line, const StreamJoin& join)>;

  TailMerge(BlockingToken& token, BlockLookup& lookup, DecodedBlocks& blocks, const ScanPlan& plan,
            const TailMergeOptions& options, MonotonicTime now)
      : token_(token),
        lookup_(lookup),
        view_(lookup.view()),
        blocks_(blocks),
        plan_(plan),
        options_(options),
        now_(now),
        pruner_(plan.predicate, view_) {}
  TailMerge(const TailMerge&) = delete;
  TailMerge& operator=(const TailMerge&) = delete;

  // `state` outlives this.
  Status add(std::size_t stream, TailStream& state);
  Result<MergeEnd> run(const Sink& sink, const std::function<bool()>& time_is_up);
  // Instead of run(): passes over everything, counting what would have been given.
  Result<MergeEnd> skip(const std::function<bool()>& time_is_up, std::uint64_t& skipped);

  // When a hole's patience ends first.
  const std::optional<MonotonicTime>& retry_at() const { return retry_at_; }
  std::uint64_t unreadable() const { return unreadable_; }  // lines in damaged blocks
  std::uint64_t forgotten_holes() const { return forgotten_holes_; }

 private:
  struct Source {
    std::size_t stream = 0;
    TailStream* state = nullptr;
    std::optional<Range> range;  // the unsent range that is read
    std::vector<BlockRef> refs;
    std::size_t at = 0;  // in refs
    Range part;          // of refs[at] within `range`
    UnixNanos key = 0;   // its next line is not earlier
    std::shared_ptr<DecodedBlock> open;
    std::vector<std::uint32_t> matching;  // lines of `open`
    std::size_t next = 0;                 // in matching
    std::uint64_t passed = 0;             // given up to here
  };

  Result<bool> find_block(Source& source);
  Result<bool> next_range(Source& source, std::uint64_t from);
  bool pass_hole(Source& source, std::uint64_t end);
  Result<Verdict> judge(const Source& source);
  Result<bool> open(Source& source);
  static void pass(Source& source);
  Result<std::uint64_t> count(Source& source);
  void push(Source source);
  Source pop();
  Status go_on(Source source);
  Status close(Source source);
  void note_given();

  BlockingToken& token_;
  BlockLookup& lookup_;
  JobView& view_;
  DecodedBlocks& blocks_;
  const ScanPlan& plan_;
  const TailMergeOptions& options_;
  MonotonicTime now_;
  Pruner pruner_;
  std::vector<Source> heap_;     // the earliest in front
  std::vector<Source> put_off_;  // not opened yet, for want of room
  std::size_t opened_ = 0, opened_bytes_ = 0;
  std::optional<MonotonicTime> retry_at_;
  std::uint64_t unreadable_ = 0, forgotten_holes_ = 0;
};

}  // namespace logarithm::aggregator
