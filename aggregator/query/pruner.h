#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "aggregator/query/job_view.h"
#include "aggregator/query/judge.h"
#include "aggregator/query/predicate.h"
#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

// Decides block by block for one query. One thread. Remembers which templates hold which
// tokens.
class Pruner {
 public:
  Pruner(const Predicate& predicate, JobView& view) : predicate_(predicate), view_(view) {}

  // Reads the block's header where the attributes do not decide.
  Result<Verdict> judge_block(BlockingToken& token, const BlockRef& block);

 private:
  class BlockProbe;
  // (shard, token) -> which templates contain the token, as far as it was asked.
  using Key = std::pair<std::uint64_t, std::string>;

  const Predicate& predicate_;
  JobView& view_;
  std::map<Key, std::unordered_map<TemplateId, bool>> containing_;
};

}  // namespace logarithm::aggregator
