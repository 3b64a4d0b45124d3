#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "aggregator/query/block_rows.h"
#include "aggregator/query/scan_turn.h"
#include "aggregator/store/storage.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

// Brings rows of blocks that overlap in time into strict (time, stream, offset) order: a row leaves
// only when no unread block can hold an earlier one. What is held is bounded by memory: over the
// bound the largest runs forget their tails, which are read again when they are due. Of a row it
// asks key_of() and memory_of(). One thread at a time.
template <typename Row>
class BlockMerge {
 public:
  // Rows of one block; the next one is at the back.
  struct Run {
    BlockRef block;
    bool verified = false;  // the block is known to fulfil the predicate as a whole
    bool more = false;      // the block holds rows beyond rows.front()
    std::size_t bytes = 0;
    std::vector<Row> rows;
  };

  // `memory`: of rows held at once, about, bytes.
  BlockMerge(Direction direction, std::size_t memory) : direction_(direction), memory_(memory) {}

  // Blocks to merge. Once, before the first next().
  void start(std::vector<BlockRef> blocks) {
    candidates_ = std::move(blocks);
    // The next one last: forward that is the earliest begin, backward the latest end.
    const auto later = [&](const BlockRef& a, const BlockRef& b) {
      return direction_ == Direction::forward ? a.time_min > b.time_min : a.time_max < b.time_max;
    };
    std::stable_sort(candidates_.begin(), candidates_.end(), later);
  }

  // Blocks that are read in part.
  std::size_t open() const { return runs_.size(); }

  // What was read of a block: `run.rows` in the order of the direction; may be none.
  void add(Run run) {
    if (run.rows.empty()) return;
    std::reverse(run.rows.begin(), run.rows.end());
    run.bytes = bytes_of(run.rows);
    bytes_ += run.bytes;
    push(std::move(run));
    if (bytes_ > memory_) forget_tails();
  }

  // Appends rows to `out`. `open_block(block)` reads a block, `read_on(run, key)` goes on in that
  // of an empty run behind `key`; both add() what they find. Their Errors end the merge.
  Result<ScanState> next(const ScanTurn& turn, const auto& open_block, const auto& read_on,
                         std::vector<Row>& out) {
    std::size_t rows = 0, bytes = 0;
    while (true) {
      while (next_block_may_come_first()) {
        if (turn.time_is_up && turn.time_is_up()) return ScanState::more;
        const BlockRef block = candidates_.back();
        candidates_.pop_back();
        LGR_CHECK(open_block(block));
      }
      if (runs_.empty()) return ScanState::finished;
      if (rows >= turn.max_rows || bytes >= turn.max_bytes) return ScanState::more;
      Run run = pop();
      const std::size_t size = memory_of(run.rows.back());
      run.bytes -= std::min(run.bytes, size);
      bytes_ -= std::min(bytes_, size);
      const OrderKey key = key_of(run.rows.back());
      out.push_back(std::move(run.rows.back()));
      run.rows.pop_back();
      ++rows;
      bytes += size;
      if (!run.rows.empty()) {
        push(std::move(run));
      } else if (run.more) {
        LGR_CHECK(read_on(std::move(run), key));
      }
    }
  }

 private:
  static std::size_t bytes_of(const std::vector<Row>& rows) {
    std::size_t out = 0;
    for (const Row& row : rows) out += memory_of(row);
    return out;
  }

  bool next_block_may_come_first() const {
    if (candidates_.empty()) return false;
    if (runs_.empty()) return true;
    // Equal times decide nothing: the stream may be a smaller one.
    const UnixNanos first = key_of(runs_.front().rows.back()).time;
    return direction_ == Direction::forward ? candidates_.back().time_min <= first
                                            : candidates_.back().time_max >= first;
  }

  auto is_later() const {
    return [forward = direction_ == Direction::forward](const Run& a, const Run& b) {
      const OrderKey left = key_of(a.rows.back()), right = key_of(b.rows.back());
      return forward ? right < left : left < right;
    };
  }

  void push(Run run) {
    runs_.push_back(std::move(run));
    std::push_heap(runs_.begin(), runs_.end(), is_later());
  }

  Run pop() {
    std::pop_heap(runs_.begin(), runs_.end(), is_later());
    Run run = std::move(runs_.back());
    runs_.pop_back();
    return run;
  }

  // The fronts stay, so the heap's order does too.
  void forget_tails() {
    while (bytes_ > memory_) {
      auto largest = std::max_element(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) {
        return a.rows.size() > 1 ? b.rows.size() > 1 && a.bytes < b.bytes : b.rows.size() > 1;
      });
      if (largest->rows.size() < 2) return;
      std::vector<Row> kept;
      const std::size_t half = largest->rows.size() / 2;
      kept.reserve(half);
      std::move(largest->rows.end() - static_cast<std::ptrdiff_t>(half), largest->rows.end(),
                std::back_inserter(kept));
      bytes_ -= largest->bytes;
      largest->rows = std::move(kept);
      largest->more = true;
      largest->bytes = bytes_of(largest->rows);
      bytes_ += largest->bytes;
    }
  }

  Direction direction_;
  std::size_t memory_;
  std::vector<BlockRef> candidates_;  // the next one is at the back
  std::vector<Run> runs_;             // a heap: the run with the first row is in front
  std::size_t bytes_ = 0;
};

}  // namespace logarithm::aggregator
