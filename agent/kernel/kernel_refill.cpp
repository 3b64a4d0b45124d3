#include "agent/kernel/kernel_refill.h"

#include <algorithm>
#include <utility>

#include "common/base/logging.h"

namespace logarithm::agent {
namespace {

constexpr std::string_view kReason = "store_lost";
constexpr std::size_t kBlockRecords = 4096;

}  // namespace

// What is believed is noted before it is asked about, so that an acknowledgement that arrives
// meanwhile is not taken for a loss.
void KernelRefill::ask(const StreamCheckpoint& checkpoint) {
  Asked asked{checkpoint, {}};
  asked.believed = without({{0, checkpoint.position}}, log_.kept(checkpoint.stream).waiting);
  if (asked.believed.empty() && !checkpoint.closed) return;
  oracle_.ask(checkpoint.stream.base, checkpoint.attributes.job);
  asked_.push_back(std::move(asked));
}

bool KernelRefill::compared(const Asked& asked, const StreamCheckpoint& current) {
  const StreamId& stream = asked.checkpoint.stream;
  const std::string& job = asked.checkpoint.attributes.job;
  const std::optional<wire::StreamState> state = oracle_.answer(stream.base, job);
  if (!state) return false;
  oracle_.drop(stream.base, job);
  std::vector<Range> there;
  bool closed = false;
  for (const StoredGeneration& one : state->generations) {
    if (one.generation != stream.generation) continue;
    there.insert(there.end(), one.ranges.begin(), one.ranges.end());
    there.insert(there.end(), one.lost.begin(), one.lost.end());
    closed = closed || one.closed;
  }
  Lost lost{asked.checkpoint, without(asked.believed, there), false, false, 0};
  if (lost.ranges.empty() && (closed || !asked.checkpoint.closed)) return true;
  LGR_WARN("the aggregator lost what it had acknowledged, sending it again stream={}",
           to_text(stream));
  lost.current = stream == current.stream;
  lost_.push_back(std::move(lost));
  return true;
}

Result<bool> KernelRefill::step(BlockingToken& token, const StreamCheckpoint& current,
                                const RuleSet& rules) {
  rules_ = &rules;
  if (blocks_) blocks_->set_rules(rules);
  if (const std::uint64_t session = oracle_.sessions(); session != session_) {
    for (const Asked& one : asked_) {
      oracle_.drop(one.checkpoint.stream.base, one.checkpoint.attributes.job);
    }
    asked_.clear();
    lost_.clear();  // what of it is in the log is not asked about
    reading_ = false;
    blocks_.reset();
    session_ = session;
    ask(current);
    for (const StreamCheckpoint& one : former_) ask(one);
  }
  std::erase_if(asked_, [&](const Asked& asked) { return compared(asked, current); });
  if (lost_.empty() || reading_) return false;
  Lost& lost = lost_.front();
  const StreamCheckpoint& newest = lost.current ? current : lost.checkpoint;
  if (!lost.searched) {
    LGR_TRY(const bool more, log_.revive(token, newest, lost.ranges, lost.next_segment));
    lost.searched = !more;
    return false;
  }
  if (lost.current && !lost.ranges.empty()) {
    reading_ = true;
    return true;
  }
  for (; !lost.ranges.empty(); lost.ranges.erase(lost.ranges.begin())) {
    const Gap gap{lost.ranges.front().first, lost.ranges.front().end, std::string(kReason),
                  clock_.wall_now()};
    LGR_CHECK(log_.append_gap(token, newest, gap));
  }
  if (newest.closed) LGR_CHECK(log_.append(token, newest, nullptr));
  lost_.pop_front();
  return false;
}

// Appends what was collected of the first range, which then begins behind it.
Status KernelRefill::append(BlockingToken& token, const StreamCheckpoint& current) {
  Range& range = lost_.front().ranges.front();
  blocks_->collect();
  const std::uint64_t end = blocks_->next();
  Status appended;
  if (blocks_->lines() == 0) {
    const Gap gap{range.first, end, std::string(kReason), clock_.wall_now()};
    appended = log_.append_gap(token, current, gap);
  } else {
    LGR_TRY(const EncodedBlock block, blocks_->finish());
    appended = log_.append(token, current, &block);
  }
  if (!appended.ok()) {  // the ring is read again, from what is still missing
    blocks_.reset();
    reading_ = false;
    return appended;
  }
  range.first = end;
  return {};
}

Status KernelRefill::close_range(BlockingToken& token, const StreamCheckpoint& current) {
  std::vector<Range>& ranges = lost_.front().ranges;
  if (!blocks_) {
    LGR_TRY(blocks_, KernelBlocks::start(current.stream, current.attributes.version, *rules_,
                                         ranges.front().first));
  }
  blocks_->leave_out(ranges.front().end, clock_.wall_now(), kReason);
  LGR_CHECK(append(token, current));
  blocks_.reset();
  ranges.erase(ranges.begin());
  return {};
}

Status KernelRefill::take(BlockingToken& token, const KernelRecord& record,
                          const StreamCheckpoint& current) {
  std::vector<Range>& ranges = lost_.front().ranges;
  while (!ranges.empty() && record.sequence >= ranges.front().end) {
    LGR_CHECK(close_range(token, current));
  }
  if (ranges.empty()) return end_of_ring(token, current);
  if (record.sequence < ranges.front().first) return {};
  if (!blocks_) {
    LGR_TRY(blocks_, KernelBlocks::start(current.stream, current.attributes.version, *rules_,
                                         ranges.front().first));
  }
  blocks_->take(record, clock_, kReason);
  const bool full = blocks_->next() - blocks_->first() >= kBlockRecords;
  const bool whole = blocks_->next() >= ranges.front().end;
  if (whole) return close_range(token, current);
  return full ? append(token, current) : Status();
}

Status KernelRefill::end_of_ring(BlockingToken& token, const StreamCheckpoint& current) {
  while (!lost_.front().ranges.empty()) LGR_CHECK(close_range(token, current));
  reading_ = false;
  return {};
}

}  // namespace logarithm::agent
