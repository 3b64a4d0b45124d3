#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/query/candidate_rows.h"
#include "aggregator/query/job_view.h"
#include "aggregator/query/predicate.h"
#include "common/async/blocking.h"
#include "common/base/result.h"
#include "common/block/block_reader.h"

namespace logarithm::aggregator {

// A block's bytes and reader together, with the shard's templates. The view must outlive it.
class OpenBlock {
 public:
  static Result<OpenBlock> open(BlockingToken& token, JobView& view, const BlockRef& block);

  const BlockReader& reader() const { return *reader_; }

  Result<std::vector<Line>> lines(BlockingToken& token, JobView& view, BlockPart parts,
                                  const RowSet& rows,
                                  const std::vector<std::string>* keys = nullptr) const;

  // Rows that hold all lines that fulfil the predicate, all of them when it is `verified` already.
  Result<CandidateRows> candidates(BlockingToken& token, JobView& view, const Predicate& predicate,
                                   bool verified) const;

 private:
  explicit OpenBlock(const BlockRef& block) : block_(block) {}

  // The templates of the block's shard; a failure to read one is the answer.
  template <typename Ask>
  auto with_templates(BlockingToken& token, JobView& view, const Ask& ask) const
      -> decltype(ask(TemplateLookup())) {
    std::optional<Error> failure;
    const TemplateLookup lookup = [&](TemplateId id) -> std::optional<std::string_view> {
      auto text = view.snapshot().template_text(token, block_.shard, id);
      if (text.ok()) return *text;
      failure = text.error();
      return std::nullopt;
    };
    auto out = ask(lookup);
    if (failure) return *failure;
    return out;
  }

  BlockRef block_;
  std::unique_ptr<std::string> bytes_;
  std::optional<BlockReader> reader_;
};

}  // namespace logarithm::aggregator
