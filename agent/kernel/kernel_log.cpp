#include "agent/kernel/kernel_log.h"

#include "agent/follow/source_state.h"

namespace logarithm::agent {
namespace {

constexpr std::size_t kTurn = 2000;  // records

StreamBase base_of(const KernelLogOptions& options) {
  const std::string nul(1, '\0');
  return hash_base("kernel" + nul + options.tenant + nul + options.host + nul + options.boot_id);
}

}  // namespace

KernelLog::KernelLog(KernelLogOptions options, KernelSource& source, const RuleSet& rules,
                     StreamLog& log, StreamOracle& oracle, Clock& clock)
    : options_(std::move(options)),
      source_(source),
      rules_(&rules),
      log_(log),
      clock_(clock),
      refill_(log, oracle, clock) {
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
  if (blocks_) blocks_->set_rules(rules);
}

// Goes on where the last run ended, and closes the streams of former boots.
Status KernelLog::begin(BlockingToken& token) {
  std::vector<StreamCheckpoint> former;
  for (StreamCheckpoint& known : log_.recovered()) {
    if (known.stream == checkpoint_.stream) {
      checkpoint_ = known;
      continue;
    }
    if (parse_source_state(known.source).kernel.empty()) continue;
    if (!known.closed) {
      known.closed = true;
      known.close_reason = "reboot";
      known.close_size = known.position;
      LGR_CHECK(log_.append(token, known, nullptr));
    }
    former.push_back(std::move(known));
  }
  for (StreamCheckpoint& one : former) refill_.add_former(std::move(one));
  LGR_TRY(blocks_, KernelBlocks::start(checkpoint_.stream, checkpoint_.attributes.version, *rules_,
                                       checkpoint_.position));
  return {};
}

Status KernelLog::step(BlockingToken& token) {
  if (options_.boot_id.empty()) {
    problem_ = "unknown boot";
    return {};
  }
  if (!blocks_) LGR_CHECK(begin(token));
  if (waiting_) LGR_CHECK(commit(token));
  auto again = refill_.step(token, checkpoint_, *rules_);
  LGR_CHECK(again);
  if (*again) source_.rewind();
  const Status read = read_some(token);
  blocks_->collect();
  LGR_CHECK(read);
  return due() ? commit(token) : Status();
}

Status KernelLog::read_some(BlockingToken& token) {
  for (std::size_t n = 0; n < kTurn && clock_.now() >= retry_at_; ++n) {
    auto read = source_.next(token);
    if (!read.ok()) {
      problem_ = read.error().message();
      retry_at_ = clock_.now() + options_.retry;
      break;
    }
    problem_.reset();
    if (read->kind == KernelSource::Kind::nothing) {
      if (refill_.reading()) LGR_CHECK(refill_.end_of_ring(token, checkpoint_));
      break;
    }
    if (read->kind == KernelSource::Kind::overwritten) {
      if (!refill_.reading()) ++stats_.overwritten;
      continue;
    }
    const auto record = parse_kernel_record(read->record);
    if (!record.ok()) {
      ++stats_.unreadable;
      continue;
    }
    LGR_CHECK(take(token, *record));
  }
  return {};
}

// After a rewind the ring is read from its oldest record on: what is known already is looked at
// only for what was lost of it.
Status KernelLog::take(BlockingToken& token, const KernelRecord& record) {
  Status refilled;
  if (refill_.reading()) refilled = refill_.take(token, record, checkpoint_);
  if (record.sequence < blocks_->next()) return refilled;
  if (!first_at_) first_at_ = clock_.now();
  blocks_->take(record, clock_, "kernel_ring");
  ++stats_.records;
  return refilled;
}

bool KernelLog::due() const {
  if (blocks_->empty()) return false;
  return blocks_->lines() >= options_.block_records ||
         clock_.now() - first_at_.value_or(clock_.now()) >= options_.block_age;
}

Status KernelLog::commit(BlockingToken& token) {
  if (!waiting_) {
    LGR_TRY(EncodedBlock encoded, blocks_->finish());
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
  if (!blocks_ || (blocks_->next() == 0 && problem_)) return std::nullopt;
  wire::StreamLag out;
  out.stream = checkpoint_.stream;
  out.job = kJob;
  out.size = blocks_->next();
  out.offset = checkpoint_.position;
  return out;
}

}  // namespace logarithm::agent
