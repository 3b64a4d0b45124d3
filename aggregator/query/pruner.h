#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "aggregator/query/job_view.h"
#include "aggregator/query/predicate.h"
#include "aggregator/store/storage.h"
#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

// What is known of all lines of a block: whether none or each of them fulfils a predicate.
enum class Verdict : std::uint8_t { never, maybe, always };

// Can `literal` lie in the text of a line of the block? Answers false only with proof.
class TextProbe {
 public:
  virtual ~TextProbe() = default;
  virtual bool may_contain(std::string_view literal) = 0;
};

// Judges the lines that `join` speaks of. Without a header (or probe) only the attributes count,
// and the verdict holds for every block of that stream version.
Verdict judge(const Predicate& predicate, const StreamJoin& join, const BlockHeader* header,
              TextProbe* probe);

// What storage can exclude by its index columns for this query.
BlockFilter block_filter(const Predicate& predicate, std::optional<UnixNanos> start,
                         std::optional<UnixNanos> end, const JobView& view);

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
