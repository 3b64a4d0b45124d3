#pragma once

#include <cstdint>
#include <string_view>

#include "aggregator/query/job_view.h"
#include "aggregator/query/predicate.h"
#include "common/block/block_header.h"

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

}  // namespace logarithm::aggregator
