#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/http/query_runner.h"
#include "aggregator/query/job_view.h"
#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

struct RawRequest {
  JobKey job;
  StreamId stream;
  std::uint64_t from = 0, to = UINT64_MAX;  // lines that begin in [from, to)
  const Clock* clock = nullptr;             // with it, a long answer renews its snapshot
};

// The exact bytes of one stream generation in offset order, block by block.
class RawTask final : public QueryTask {
 public:
  RawTask(Storage& storage, RawRequest request) : storage_(storage), request_(std::move(request)) {}
  // True when a piece is there, or the end. The first call finds the stream and gives no piece.
  Result<bool> step(BlockingToken& token, const std::function<bool()>& time_is_up) override;

  std::shared_ptr<void> park() override;

  std::string take_piece() { return std::move(piece_); }
  bool finished() const { return opened_ && next_ == blocks_.size(); }
  // How many gaps left bytes out.
  std::size_t gaps() const;

 private:
  Status open(BlockingToken& token);

  static constexpr std::size_t kPieceBytes = 1u << 20;

  Storage& storage_;
  RawRequest request_;
  std::unique_ptr<JobView> view_;
  std::size_t stream_ = 0;
  std::vector<BlockRef> blocks_;
  std::size_t next_ = 0;
  bool opened_ = false;
  std::uint64_t done_ = 0;  // everything before this offset was given
  MonotonicTime opened_at_{};
  std::string piece_;
};

}  // namespace logarithm::aggregator
