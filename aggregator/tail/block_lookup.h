#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "aggregator/query/job_view.h"

namespace logarithm::aggregator {

// Where the blocks of a view's streams are, asked once for all tails of a round: those that are up
// with the job ask the same. One thread; the view outlives it.
class BlockLookup {
 public:
  static constexpr std::size_t kFetch = 16;  // blocks of a stream looked up at once

  explicit BlockLookup(JobView& view) : view_(view) {}
  JobView& view() const { return view_; }

  // Up to kFetch blocks of a stream that hold anything at or beyond `offset`, ascending.
  Result<std::vector<BlockRef>> from(BlockingToken& token, std::size_t stream,
                                     std::uint64_t offset) {
    const std::pair key(stream, offset);
    if (const auto known = found_.find(key); known != found_.end()) return known->second;
    LGR_TRY(auto blocks, view_.snapshot().blocks_from(token, stream, offset, kFetch));
    if (found_.size() < kMost) found_.emplace(key, blocks);
    return blocks;
  }

 private:
  static constexpr std::size_t kMost = 10'000;
  JobView& view_;
  std::map<std::pair<std::size_t, std::uint64_t>, std::vector<BlockRef>> found_;
};

}  // namespace logarithm::aggregator
