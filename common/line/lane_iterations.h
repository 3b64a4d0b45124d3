#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace logarithm {

// The iteration that each writer of one stream said last. Ranks that share a stream need not be
// equally far, so a line inherits from its own writer, where that has said any. A writer is a lane
// (see Wrapped::lane). One thread.
class LaneIterations {
 public:
  using Entry = std::pair<std::int32_t, std::int64_t>;  // lane, iteration
  // Writers beyond it inherit what the stream said last, as those do that never said any.
  static constexpr std::size_t kMost = 1024;

  std::optional<std::int64_t> of(std::int32_t lane) const;
  void set(std::int32_t lane, std::int64_t iteration);
  // Somebody said one who cannot be told from the others.
  void clear() { entries_.clear(); }
  const std::vector<Entry>& entries() const { return entries_; }  // ascending by lane

 private:
  std::vector<Entry> entries_;
};

}  // namespace logarithm
