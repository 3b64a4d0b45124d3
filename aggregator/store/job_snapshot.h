#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "aggregator/store/job_store.h"
#include "aggregator/store/storage.h"

namespace logarithm::aggregator {

// A view over the parts of one job. Holds a read transaction on each part for as long as it lives,
// so a BlockRef stays readable while sealing swaps blocks; must therefore be short-lived (the WAL
// cannot be reset meanwhile). BlockRef::id is the row, doubled, plus 1 for rows of the inbox.
class SqliteSnapshot final : public JobSnapshot {
 public:
  explicit SqliteSnapshot(JobStore::View view) : view_(std::move(view)) {
    templates_.resize(view_.readers.size());
  }
  ~SqliteSnapshot() override;

  const std::vector<StreamFacts>& streams() const override { return view_.facts->streams; }
  const std::vector<ProcessFacts>& processes() const override { return view_.facts->processes; }
  const std::set<std::int32_t>& wrapper_ranks() const override {
    return view_.facts->wrapper_ranks;
  }
  Result<std::vector<BlockRef>> candidates(BlockingToken&, const BlockFilter& filter) override;
  Result<std::vector<IterationStart>> iterations(BlockingToken&,
                                                 const std::string& process) override;
  Result<std::vector<IterationNode>> iteration_nodes(BlockingToken&, const std::string& axis,
                                                     unsigned level, std::int64_t first,
                                                     std::int64_t last) override;
  Result<std::vector<TemplateText>> body_templates(BlockingToken&) override;
  Result<std::vector<BlockRef>> blocks_from(BlockingToken&, std::size_t stream,
                                            std::uint64_t offset, std::size_t most) override;
  Result<std::string> block_header(BlockingToken&, const BlockRef& block) override;
  Result<std::string> block_bytes(BlockingToken&, const BlockRef& block) override;
  Result<std::optional<std::string_view>> template_text(BlockingToken&, std::uint64_t shard,
                                                        TemplateId id) override;
  Result<std::set<TemplateId>> templates_containing(BlockingToken&, std::uint64_t shard,
                                                    std::string_view literal,
                                                    bool fold_case) override;

 private:
  Status add_candidates(BlockingToken&, std::size_t part, bool inbox, const BlockFilter& filter,
                        std::vector<BlockRef>& out);
  Status add_blocks_from(BlockingToken&, std::size_t part, bool inbox, std::size_t stream,
                         std::uint64_t offset, std::size_t most, std::vector<BlockRef>& out);
  BlockRef block_of(const Statement& row, std::size_t part, bool inbox, std::size_t stream) const;
  // Position in streams() -> row of the part.
  const std::unordered_map<std::size_t, std::int64_t>& rows_of(std::size_t part);
  // The position of a part number in view_; Error{invalid} for a shard that is not ours.
  Result<std::size_t> position(std::uint64_t shard) const;
  Result<std::string> read_block(BlockingToken&, const BlockRef& block, bool whole);

  JobStore::View view_;
  std::vector<std::unordered_map<std::size_t, std::int64_t>>
      rows_;  // per part, made when asked for
  std::vector<std::unordered_map<TemplateId, std::optional<std::string>>> templates_;  // per part
};

}  // namespace logarithm::aggregator
