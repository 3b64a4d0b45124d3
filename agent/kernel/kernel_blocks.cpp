#include "agent/kernel/kernel_blocks.h"

#include <algorithm>
#include <cstdio>

#include "common/rules/rule_set.h"

namespace logarithm::agent {
namespace {

constexpr std::size_t kStarts = 4096;  // heads of records lie within so many lines

// As dmesg prints it, which the parser reads: level, stamp, text.
std::string rendered(const KernelRecord& record) {
  char stamp[64];
  std::snprintf(stamp, sizeof stamp, "<%u>[%5llu.%06llu] ", record.level,
                static_cast<unsigned long long>(record.micros / 1'000'000),
                static_cast<unsigned long long>(record.micros % 1'000'000));
  return stamp + record.message + "\n";
}

}  // namespace

KernelBlocks::KernelBlocks(const StreamId& stream, std::uint32_t version, std::uint64_t next)
    : block_(stream, version), first_(next), next_(next), last_head_(next) {
  block_.set_first(next);
}

KernelBlocks::~KernelBlocks() = default;

Result<std::unique_ptr<KernelBlocks>> KernelBlocks::start(const StreamId& stream,
                                                          std::uint32_t version,
                                                          const RuleSet& rules,
                                                          std::uint64_t next) {
  std::unique_ptr<KernelBlocks> out(new KernelBlocks(stream, version, next));
  StreamContext context;
  context.stream_name = "kernel";
  LGR_TRY(out->parser_, StreamParser::make(std::move(context), rules, out->pool_, 0, ""));
  return out;
}

void KernelBlocks::leave_out(std::uint64_t end, UnixNanos wall, std::string_view reason) {
  if (end <= next_) return;
  collect();  // gaps and lines go into the block in their order
  Gap gap;
  gap.from = next_;
  gap.to = end;
  gap.reason = reason;
  gap.at = wall;
  block_.add_gap(gap);
  next_ = end;
}

void KernelBlocks::take(const KernelRecord& record, Clock& clock, std::string_view gap_reason) {
  observed_ = clock.wall_now();
  leave_out(record.sequence, observed_, gap_reason);
  Start start;
  start.at = parser_->next_read();
  start.sequence = record.sequence;
  const std::int64_t up = clock.now().time_since_epoch().count();
  start.time = observed_ - up + static_cast<UnixNanos>(record.micros * 1000);
  start.facility = record.facility;
  start.fragment = record.fragment;
  start.facts = record.facts;
  starts_.push_back(std::move(start));
  next_ = record.sequence + 1;
  parser_->feed(rendered(record), observed_, parsed_);
}

const KernelBlocks::Start& KernelBlocks::start_of(std::uint64_t at) const {
  const auto after =
      std::upper_bound(starts_.begin(), starts_.end(), at,
                       [](std::uint64_t value, const Start& start) { return value < start.at; });
  return after == starts_.begin() ? *after : *std::prev(after);
}

// The parser counts bytes; the stream counts records.
void KernelBlocks::finish_line(Line& line) {
  const Start& start = start_of(line.offset);
  const std::uint64_t head = start_of(line.head).sequence;
  line.offset = start.sequence;
  line.length = 1;
  line.head = head;
  line.extents.clear();
  line.time = start.time;
  line.flags &= ~(line_flag::derived_time | line_flag::time_suspect);
  if (start.fragment) {
    line.flags |= line_flag::continuation;
    line.head = last_head_;
  } else {
    last_head_ = start.sequence;
  }
  line.meta.push_back({"facility", facility_name(start.facility), false});
  for (const auto& [key, value] : start.facts) line.meta.push_back({key, value, false});
}

void KernelBlocks::collect() {
  if (starts_.empty()) return;
  parser_->flush(StreamParser::Flush::idle, observed_, parsed_);
  for (Line& line : parsed_.lines) {
    finish_line(line);
    block_.add(line);
  }
  for (Gap& gap : parsed_.gaps) {
    const std::uint64_t sequence = start_of(gap.from).sequence;
    gap.from = sequence;
    gap.to = sequence + 1;
    block_.add_gap(gap);
  }
  parsed_.lines.clear();
  parsed_.gaps.clear();
  parsed_.mappings.clear();
  while (starts_.size() > kStarts) starts_.pop_front();
}

Result<EncodedBlock> KernelBlocks::finish() {
  collect();
  block_.set_end(next_);
  LGR_TRY(EncodedBlock encoded, block_.finish(0));
  first_ = next_;
  block_.set_first(next_);
  return encoded;
}

}  // namespace logarithm::agent
