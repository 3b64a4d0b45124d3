#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "aggregator/tail/tail_cursor.h"
#include "aggregator/tail/tail_merge.h"

namespace logarithm::aggregator {

struct TailQuery {
  JobKey job;
  Predicate predicate;
  std::optional<UnixNanos> start, end;  // order time; with a cursor those of the cursor count
  std::uint64_t query_hash = 0;
  // Where an earlier connection ended. Without one: from `start` on, or without that, what is
  // stored from now on.
  std::optional<TailCursor> cursor;
  // A reader that was up with the job and then falls further behind skips to the newest and is told
  // how many lines those were. 0: never, it gets everything at its own pace.
  std::chrono::nanoseconds max_behind{0};
};

// What goes to the client at once.
struct TailPiece {
  std::string lines;  // JSON objects with commas between them
  std::uint64_t count = 0;
  std::uint64_t skipped = 0;     // lines left out: the reader is too slow
  std::uint64_t unreadable = 0;  // lines in damaged blocks
  bool live = false;             // there is no more at the moment
  std::string cursor;            // goes on behind all this
};

// One tail's place and pace, without a socket. Each step() reads on over a fresh view. One thread
// at a time.
class TailReader {
 public:
  TailReader(TailQuery query, TailMergeOptions options);
  TailReader(const TailReader&) = delete;
  TailReader& operator=(const TailReader&) = delete;

  struct Turn {
    std::size_t piece_bytes = 1u << 20;
    std::function<bool()> time_is_up;
    MonotonicTime now{};
  };
  enum class State : std::uint8_t {
    piece,  // take() has something
    idle,   // nothing until something is stored, or until retry_at()
    more    // the time was up
  };
  // An Error ends the tail.
  Result<State> step(BlockingToken& token, BlockLookup& lookup, DecodedBlocks& blocks,
                     const Turn& turn);

  TailPiece take();
  // After step(): everything stored as of its view is given.
  bool caught_up() const { return caught_up_; }
  const std::optional<MonotonicTime>& retry_at() const { return retry_at_; }

  const TailQuery& query() const { return query_; }
  std::uint64_t forgotten_holes() const { return forgotten_holes_; }

 private:
  // A cursor goes out with no lines at most so often, when only lines of no interest were passed.
  static constexpr std::chrono::seconds kCursorEvery{5};

  void adopt_streams(const JobView& view);
  Status add_sources(TailMerge& merge, const JobView& view, MonotonicTime now);
  bool is_too_slow(MonotonicTime now) const;
  bool has_piece(MonotonicTime now) const;

  const TailQuery query_;
  const TailMergeOptions options_;
  ScanPlan plan_;
  std::unordered_map<StreamId, TailStream> streams_;
  bool began_ = false, was_live_ = false, caught_up_ = false, skipping_ = false;
  bool told_live_ = false, told_anything_ = false;
  std::optional<MonotonicTime> retry_at_, told_at_;
  // Stored bytes of the job over time, since this tail was last up with it: the first entry that is
  // not reached yet says how far behind it is.
  std::deque<std::pair<MonotonicTime, std::uint64_t>> stored_;
  std::uint64_t reached_ = 0, moved_from_ = 0;
  std::uint64_t forgotten_holes_ = 0;
  TailPiece piece_;
};

}  // namespace logarithm::aggregator
