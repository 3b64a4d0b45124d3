#include "aggregator/query/pruner.h"

#include "common/block/block_reader.h"
#include "common/block/token_filter.h"

namespace logarithm::aggregator {

// Reads the texts of the block's templates as far as tokens of literals are looked for.
class Pruner::BlockProbe final : public TextProbe {
 public:
  BlockProbe(Pruner& owner, BlockingToken& token, const BlockRef& block, const BlockHeader& header)
      : owner_(owner), token_(token), block_(block), header_(header) {}

  bool may_contain(std::string_view literal) override {
    return may_contain_literal(header_, literal,
                               [this](std::string_view token) { return in_templates(token); });
  }

 private:
  bool in_templates(std::string_view token) {
    auto& known = owner_.containing_[Key(block_.shard, std::string(token))];
    for (TemplateId id : header_.stored_templates) {
      auto found = known.find(id);
      if (found == known.end()) {
        auto text = owner_.view_.snapshot().template_text(token_, block_.shard, id);
        // What is not known proves nothing; a failure shows when the block is decoded.
        const bool holds = !text.ok() || !*text || (*text)->find(token) != std::string_view::npos;
        found = known.emplace(id, holds).first;
      }
      if (found->second) return true;
    }
    return false;
  }

  Pruner& owner_;
  BlockingToken& token_;
  const BlockRef& block_;
  const BlockHeader& header_;
};

Result<Verdict> Pruner::judge_block(BlockingToken& token, const BlockRef& block) {
  const StreamJoin& join = *view_.join_of(block);
  const Verdict by_attributes = judge(predicate_, join, nullptr, nullptr);
  if (by_attributes != Verdict::maybe) return by_attributes;
  LGR_TRY(std::string bytes, view_.snapshot().block_header(token, block));
  LGR_TRY(BlockHeader header, parse_block_header(bytes));
  BlockProbe probe(*this, token, block, header);
  return judge(predicate_, join, &header, &probe);
}

}  // namespace logarithm::aggregator
