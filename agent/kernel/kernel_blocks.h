#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/kernel/kernel_record.h"
#include "common/base/clock.h"
#include "common/block/block_writer.h"
#include "common/line/stream_parser.h"

namespace logarithm::agent {

// Records of the kernel's log -> lines -> blocks, contiguous in the records' numbers. File thread
// only.
class KernelBlocks {
 public:
  // The record that comes next is `next`. The rules outlive it, or set_rules() names others.
  static Result<std::unique_ptr<KernelBlocks>> start(const StreamId& stream, std::uint32_t version,
                                                     const RuleSet& rules, std::uint64_t next);
  ~KernelBlocks();

  // Numbers between the last record and this one are a gap with this reason.
  void take(const KernelRecord& record, Clock& clock, std::string_view gap_reason);
  // Nothing is to be had before `end`.
  void leave_out(std::uint64_t end, UnixNanos wall, std::string_view reason);
  // Reads what was taken: a line ends with its record.
  void collect();

  // After collect().
  bool empty() const { return block_.empty(); }
  std::size_t lines() const { return block_.lines(); }
  // Cuts the block of all that was collected, up to next().
  Result<EncodedBlock> finish();

  std::uint64_t first() const { return first_; }
  std::uint64_t next() const { return next_; }
  void set_rules(const RuleSet& rules) { parser_->set_rules(rules); }

 private:
  KernelBlocks(const StreamId& stream, std::uint32_t version, std::uint64_t next);
  struct Start {
    std::uint64_t at = 0;  // in the parser's bytes
    std::uint64_t sequence = 0;
    UnixNanos time = 0;
    unsigned facility = 0;
    bool fragment = false;
    std::vector<std::pair<std::string, std::string>> facts;
  };
  void finish_line(Line& line);
  const Start& start_of(std::uint64_t at) const;

  LongLinePool pool_;
  std::unique_ptr<StreamParser> parser_;
  BlockWriter block_;
  std::uint64_t first_ = 0, next_ = 0;  // of this block
  std::uint64_t last_head_ = 0;         // number of the last line that is no fragment
  std::deque<Start> starts_;            // of the newest records
  ParsedLines parsed_;
  UnixNanos observed_ = 0;
};

}  // namespace logarithm::agent
