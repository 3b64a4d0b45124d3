#include "aggregator/query/open_block.h"

namespace logarithm::aggregator {

Result<OpenBlock> OpenBlock::open(BlockingToken& token, JobView& view, const BlockRef& block) {
  OpenBlock out(block);
  LGR_TRY(std::string bytes, view.snapshot().block_bytes(token, block));
  out.bytes_ = std::make_unique<std::string>(std::move(bytes));
  LGR_TRY(BlockReader reader, BlockReader::open(*out.bytes_));
  out.reader_.emplace(std::move(reader));
  return out;
}

Result<std::vector<Line>> OpenBlock::lines(BlockingToken& token, JobView& view, BlockPart parts,
                                           const RowSet& rows,
                                           const std::vector<std::string>* keys) const {
  return with_templates(token, view, [&](const TemplateLookup& lookup) {
    return reader_->lines(parts, rows, lookup, keys);
  });
}

Result<CandidateRows> OpenBlock::candidates(BlockingToken& token, JobView& view,
                                            const Predicate& predicate, bool verified) const {
  if (verified) return CandidateRows{RowSet::all(reader_->header().lines), true};
  const StreamJoin& join = *view.join_of(block_);
  return with_templates(token, view, [&](const TemplateLookup& lookup) {
    return candidate_rows(*reader_, predicate, join, lookup);
  });
}

}  // namespace logarithm::aggregator
