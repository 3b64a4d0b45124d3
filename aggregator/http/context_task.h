#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/http/query_runner.h"
#include "aggregator/query/scanner.h"
#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

struct ContextRequest {
  std::string tenant;
  StreamId stream;
  std::uint64_t offset = 0;
  std::size_t before = 10, after = 10;
  bool all_ranks = false;
  std::size_t memory = 256u << 20;
};

// The lines around a line, filters off: of its stream by offset, or of all streams of its job by
// order time. Error{not_found} when there is no such line.
class ContextTask final : public QueryTask {
 public:
  ContextTask(Storage& storage, ContextRequest request)
      : storage_(storage), request_(std::move(request)) {}
  Result<bool> step(BlockingToken& token, const std::function<bool()>& time_is_up) override;

  // After the end: ascending, the line itself among them.
  const std::vector<QueryLine>& lines() const { return lines_; }
  const JobView& view() const { return *view_; }
  std::size_t stream() const { return stream_; }

 private:
  Status open(BlockingToken& token);
  Status read_block(BlockingToken& token, const BlockRef& block);
  Result<bool> around_in_stream(BlockingToken& token, const std::function<bool()>& time_is_up);
  Result<bool> around_in_time(BlockingToken& token, const std::function<bool()>& time_is_up);

  Storage& storage_;
  ContextRequest request_;
  std::unique_ptr<JobView> view_;
  std::size_t stream_ = 0;
  std::vector<BlockRef> blocks_;    // of the stream, by offset
  std::size_t low_ = 0, high_ = 0;  // blocks [low, high) were read
  std::vector<QueryLine> lines_;
  std::unique_ptr<Scanner> backward_, forward_;
  std::vector<QueryLine> earlier_, later_;
};

}  // namespace logarithm::aggregator
