#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "aggregator/query/block_rows.h"
#include "aggregator/query/job_view.h"

namespace logarithm::aggregator {

// A line as clients get it: one JSON object.
using LineEncoder = std::function<std::string(const Line&, const StreamJoin&)>;

// A block that was decoded as far as somebody needed it.
struct DecodedBlock {
  BlockPart parts = BlockPart::facts;
  std::vector<Line> lines;         // in offset order
  std::vector<std::string> texts;  // encoded; empty: not yet
  std::size_t bytes = 0;           // in memory, about
};

// Blocks that tails read, decoded and encoded once for all of them, up to `max_bytes` (the least
// recently used go first; what a tail holds stays alive with it). One thread.
class DecodedBlocks {
 public:
  DecodedBlocks(std::size_t max_bytes, LineEncoder encode)
      : max_bytes_(max_bytes), encode_(std::move(encode)) {}

  // With at least `parts` decoded.
  Result<std::shared_ptr<DecodedBlock>> get(BlockingToken& token, JobView& view,
                                            const BlockRef& block, BlockPart parts);
  // Line `index` of a block that has all parts. Valid until the next call.
  const std::string& text(DecodedBlock& block, std::size_t index, const StreamJoin& join);

  std::size_t bytes() const { return bytes_; }

 private:
  using Key = std::tuple<JobKey, StreamId, std::uint64_t, std::uint64_t>;
  struct Entry {
    std::shared_ptr<DecodedBlock> block;
    std::list<Key>::iterator used;
    std::size_t counted = 0;
  };
  void count(Entry& entry);
  void evict();

  std::size_t max_bytes_;
  LineEncoder encode_;
  std::map<Key, Entry> entries_;
  std::list<Key> used_;  // newest first
  std::size_t bytes_ = 0;
};

}  // namespace logarithm::aggregator
