#include "agent/kernel/kernel_log.h"

#include <algorithm>
#include <cstdio>

#include "agent/follow/source_state.h"
#include "common/base/logging.h"
#include "common/rules/rule_set.h"

namespace logarithm::agent {
namespace {

constexpr std::size_t kTurn = 2000;    // records
constexpr std::size_t kStarts = 4096;  // heads of records lie within so many lines

StreamBase base_of(const KernelLogOptions& options) {
  const std::string nul(1, '\0');
  return hash_base("kernel" + nul + options.tenant + nul + options.host + nul + options.boot_id);
}

// As dmesg prints it, which the parser reads: level, stamp, text.
std::string rendered(const KernelRecord& record) {
  char stamp[64];
  std::snprintf(stamp, sizeof stamp, "<%u>[%5llu.%06llu] ", record.level,
                static_cast<unsigned long long>(record.micros / 1'000'000),
                static_cast<unsigned long long>(record.micros % 1'000'000));
  return stamp + record.message + "\n";
}

}  // namespace

KernelLog::KernelLog(KernelLogOptions options, KernelSource& source, const RuleSet& rules,
                     StreamLog& log, Clock& clock)
    : options_(std::move(options)),
      source_(source),
      rules_(&rules),
      log_(log),
      clock_(clock),
      block_(StreamId{}, 0) {
  checkpoint_.stream.base = base_of(options_);
  StreamAttributes& attributes = checkpoint_.attributes;
  attributes.job = kJob;
  attributes.host = options_.host;
  attributes.name = "kernel";
  attributes.labels["boot_id"] = options_.boot_id;
  SourceState source_state;
  source_state.kernel = options_.boot_id;
  checkpoint_.source = to_json_text(source_state);
}

KernelLog::~KernelLog() = default;

void KernelLog::set_rules(const RuleSet& rules) {
  rules_ = &rules;
  if (parser_) parser_->set_rules(rules);
}

// Goes on where the last run ended, and closes the streams of former boots.
Status KernelLog::begin(BlockingToken& token) {
  for (StreamCheckpoint& known : log_.recovered()) {
    if (known.stream == checkpoint_.stream) {
      checkpoint_ = known;
      continue;
    }
    if (known.closed || parse_source_state(known.source).kernel.empty()) continue;
    known.closed = true;
    known.close_reason = "reboot";
    known.close_size = known.position;
    LGR_CHECK(log_.append(token, known, nullptr));
  }
  StreamContext context;
  context.stream_name = "kernel";
  LGR_TRY(parser_, StreamParser::make(std::move(context), *rules_, pool_, 0, ""));
  block_ = BlockWriter(checkpoint_.stream, checkpoint_.attributes.version);
  next_ = last_head_ = checkpoint_.position;
  begun_ = true;
  return {};
}

Status KernelLog::step(BlockingToken& token) {
  if (options_.boot_id.empty()) {
    problem_ = "unknown boot";
    return {};
  }
  if (!begun_) LGR_CHECK(begin(token));
  if (waiting_) LGR_CHECK(commit(token));
  for (std::size_t n = 0; n < kTurn && clock_.now() >= retry_at_; ++n) {
    auto read = source_.next(token);
    if (!read.ok()) {
      problem_ = read.error().message();
      retry_at_ = clock_.now() + options_.retry;
      break;
    }
    problem_.reset();
    if (read->kind == KernelSource::Kind::nothing) break;
    if (read->kind == KernelSource::Kind::overwritten) {
      ++stats_.overwritten;
      continue;
    }
    const auto record = parse_kernel_record(read->record);
    if (!record.ok()) {
      ++stats_.unreadable;
    } else if (record->sequence >= next_) {
      take(*record);
    }
  }
  collect();
  return due() ? commit(token) : Status();
}

void KernelLog::take(const KernelRecord& record) {
  if (!first_at_) {
    block_.set_first(next_);
    first_at_ = clock_.now();
  }
  const UnixNanos wall = clock_.wall_now();
  const std::int64_t up = clock_.now().time_since_epoch().count();
  if (record.sequence > next_) {
    collect();  // gaps and lines go into the block in their order
    Gap gap;
    gap.from = next_;
    gap.to = record.sequence;
    gap.reason = "kernel_ring";
    gap.at = wall;
    block_.add_gap(gap);
  }
  Start start;
  start.at = parser_->next_read();
  start.sequence = record.sequence;
  start.time = wall - up + static_cast<UnixNanos>(record.micros * 1000);
  start.facility = record.facility;
  start.fragment = record.fragment;
  start.facts = record.facts;
  starts_.push_back(std::move(start));
  next_ = record.sequence + 1;
  ++stats_.records;
  parser_->feed(rendered(record), wall, parsed_);
}

const KernelLog::Start& KernelLog::start_of(std::uint64_t at) const {
  const auto after =
      std::upper_bound(starts_.begin(), starts_.end(), at,
                       [](std::uint64_t value, const Start& start) { return value < start.at; });
  return after == starts_.begin() ? *after : *std::prev(after);
}

// The parser counts bytes; the stream counts records.
void KernelLog::finish_line(Line& line) {
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

void KernelLog::collect() {
  if (starts_.empty()) return;
  parser_->flush(StreamParser::Flush::idle, clock_.wall_now(), parsed_);
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

bool KernelLog::due() const {
  if (block_.empty()) return false;
  return block_.lines() >= options_.block_records ||
         clock_.now() - first_at_.value_or(clock_.now()) >= options_.block_age;
}

Status KernelLog::commit(BlockingToken& token) {
  if (!waiting_) {
    block_.set_end(next_);
    LGR_TRY(EncodedBlock encoded, block_.finish(0));
    first_at_.reset();
    waiting_ = std::move(encoded);
  }
  StreamCheckpoint next = checkpoint_;
  next.position = waiting_->header.end;
  LGR_CHECK(log_.append(token, next, &*waiting_));
  checkpoint_ = std::move(next);
  waiting_.reset();
  return {};
}

std::optional<wire::StreamLag> KernelLog::lag() const {
  if (!begun_ || (next_ == 0 && problem_)) return std::nullopt;
  wire::StreamLag out;
  out.stream = checkpoint_.stream;
  out.job = kJob;
  out.size = next_;
  out.offset = checkpoint_.position;
  return out;
}

}  // namespace logarithm::agent
