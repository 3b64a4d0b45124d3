#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "aggregator/store/retained.h"
#include "aggregator/store/shard.h"

namespace logarithm::aggregator {

using Parts = std::vector<std::unique_ptr<Shard>>;  // ascending; the last one is written

struct BatchCounts {
  std::uint64_t blocks = 0, lines = 0, bytes = 0;
};

// Applies items, inside one transaction on the last part, which the caller began and commits. What
// is wrong with an item is its outcome; an Error means that the transaction must be rolled back.
class Batch {
 public:
  Batch(BlockingToken& token, const Parts& parts, const Retained& retained, const JobKey& job,
        UnixNanos now, bool refuse_blocks)
      : token_(token),
        parts_(parts),
        retained_(retained),
        shard_(*parts.back()),
        job_(job),
        now_(now),
        refuse_blocks_(refuse_blocks) {}

  Result<IngestOutcome> put(const IngestItem& item);

  // Streams that the last part did not know before: the catalogue must have them before the commit.
  const std::vector<StreamId>& new_streams() const { return new_streams_; }
  const BatchCounts& counts() const { return counts_; }

 private:
  Result<IngestOutcome> put(const wire::StreamInfo& info);
  Result<IngestOutcome> put(const wire::Processes& processes);
  Result<IngestOutcome> put(const wire::Templates& templates);
  Result<IngestOutcome> put(const wire::Block& block);
  Result<IngestOutcome> put(const wire::Closed& closed);
  Result<IngestOutcome> put(const wire::GapReport& report);

  // The stream's row in the last part, copied there from an older one; nullptr when unknown.
  Result<Shard::Stream*> local_stream(const StreamId& id);
  Result<std::vector<Range>> stored_ranges(const StreamId& id);
  // Those that no part knows; what an older part knows is copied.
  Result<std::vector<TemplateId>> missing_templates(const std::vector<TemplateId>& ids);
  Result<IngestOutcome> put_new(const wire::Block& block, const BlockReader& reader,
                                Shard::Stream& stream);
  Result<IngestOutcome> put_cut(const wire::Block& block, const BlockReader& reader,
                                Shard::Stream& stream, std::uint64_t cut_at,
                                std::uint64_t resume_at);
  Result<std::unordered_map<TemplateId, std::string>> texts_of(const std::vector<TemplateId>& ids);

  BlockingToken& token_;
  const Parts& parts_;
  const Retained& retained_;
  Shard& shard_;
  const JobKey& job_;
  UnixNanos now_;
  bool refuse_blocks_;
  std::vector<StreamId> new_streams_;
  std::unordered_set<TemplateId> conflicts_;  // templates of this batch that contradict stored ones
  BatchCounts counts_;
};

}  // namespace logarithm::aggregator
