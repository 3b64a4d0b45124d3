#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregator/query/job_view.h"
#include "aggregator/triage/survey_depth.h"
#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator::triage {

struct LineLimits {
  std::uint64_t most = 20'000'000;  // in blocks, the newest of each stream first
  // Over so many only the newest of each stream are looked at one by one, as many of each; of the
  // others those around marks.
  std::uint64_t whole = 262'144;
};

// A block that is to be surveyed.
struct BlockWork {
  BlockRef block;
  bool of_hosts = false;  // of the job of streams that belong to none
  bool shared = false;    // its stream states no attempt
  Depth depth = kWholeBlock;
};

struct AttemptLife {
  UnixNanos from = INT64_MAX, to = INT64_MIN;  // of its lines and processes
  // Lines that state no attempt are this one's from `begin` to `end`: a launcher's report of an
  // attempt comes before the next one begins.
  UnixNanos begin = INT64_MIN, end = INT64_MAX;

  bool known() const { return from <= to; }
};

struct AttemptBlocks {
  std::vector<BlockWork> work;  // ascending by (stream, offset)
  AttemptLife life;
};

// Attempts that a job has, ascending.
std::vector<std::int32_t> attempts_of(JobView& view);

// Which blocks are surveyed for an attempt (absent: for streams that state none), and how deep.
Result<AttemptBlocks> blocks_of_attempt(BlockingToken& token, JobView& view,
                                        std::optional<std::int32_t> attempt,
                                        const LineLimits& limits);

// Blocks of the hosts' own streams while the attempt may be spoken of; all of each.
Result<std::vector<BlockWork>> blocks_of_hosts(BlockingToken& token, JobView& host_view,
                                               const std::set<std::string>& hosts,
                                               const AttemptLife& life);

// Kernels speak before and after an attempt, and of no rank.
bool is_kernel(const StreamJoin& join);

}  // namespace logarithm::aggregator::triage
