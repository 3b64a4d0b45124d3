#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/query/job_view.h"
#include "aggregator/query/predicate.h"
#include "common/block/row_set.h"

namespace logarithm::aggregator {

// What a predicate asks of the lines of one block, as a text that says it in full: what the block's
// join decides is decided in it. nullopt when more than the block itself must be known (iterations
// and ranks may be corrected or joined).
std::optional<std::string> block_question(const Predicate& predicate, const StreamJoin& join);

// Which lines of a block fulfil a question; blocks never change. The least recently asked questions
// go first, with all their blocks. Thread-safe.
class MatchCache {
 public:
  using Marks = std::shared_ptr<const std::vector<RowMark>>;
  struct BlockKey {
    std::uint64_t shard = 0;
    StreamId stream;
    std::uint64_t first = 0, end = 0;
    std::uint32_t lines = 0;
    auto operator<=>(const BlockKey&) const = default;
  };
  // A question's answers. Held by whoever asks it; what is forgotten meanwhile stays readable.
  class Question;
  using Handle = std::shared_ptr<Question>;

  // Keeps about so many bytes.
  explicit MatchCache(std::size_t most) : most_(most) {}

  Handle open(const JobKey& job, const std::string& question);
  // Null: not known.
  Marks find(const Handle& question, const BlockKey& block);
  // A question whose answers would take more than a quarter of all is not kept.
  void add(const Handle& question, const BlockKey& block, Marks marks);

  std::size_t bytes() const;
  std::uint64_t hits() const { return hits_.load(); }
  std::uint64_t misses() const { return misses_.load(); }

 private:
  using Key = std::pair<JobKey, std::string>;
  void make_room(const Question* but);

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::uint64_t clock_ = 0;
  std::size_t bytes_ = 0;
  std::map<Key, Handle> questions_;
  std::atomic<std::uint64_t> hits_{0}, misses_{0};
};

}  // namespace logarithm::aggregator
