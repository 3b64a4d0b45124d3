// The half of the session that writes: facts and blocks into the writer pool, acks out.
#include <algorithm>

#include "aggregator/ingest/ingest_session.h"
#include "common/block/block_reader.h"
#include "common/model/job_name.h"

namespace logarithm::aggregator {
namespace {

constexpr std::uint32_t kRetryMs = 1000;
constexpr std::uint32_t kRetryNoSpaceMs = 5000;

}  // namespace

JobKey IngestSession::job_key(const std::string& job) const {
  JobKey key;
  key.tenant = agent_.first;
  key.job = job;
  return key;
}

// ---- facts

void IngestSession::submit_fact(const std::string& job, IngestItem item) {
  if (job.empty()) return protocol_error("a fact of no job");
  if (const auto problem = problem_of_job_name(job)) {
    return protocol_error("a fact of a job whose name " + *problem);
  }
  if (pending_.size() >= hub_.options_.max_waiting) {
    return end("too much at once", std::chrono::milliseconds(kRetryMs));
  }
  const std::uint64_t ticket = take_ticket();
  std::vector<IngestItem> items;
  items.push_back(std::move(item));
  const bool queued = hub_.writers_.submit(
      job_key(job), std::move(items),
      [self = shared_from_this(), ticket](Result<std::vector<IngestOutcome>> outcomes) {
        self->on_fact_done(ticket, std::move(outcomes));
      });
  if (queued) return;
  end("overloaded", std::chrono::milliseconds(kRetryMs));
  finish_ticket(ticket);
}

void IngestSession::on_fact_done(std::uint64_t ticket,
                                 Result<std::vector<IngestOutcome>> outcomes) {
  if (end_after_loss()) return finish_ticket(ticket);
  if (!outcomes.ok()) {
    end("storage: " + outcomes.error().message(), std::chrono::milliseconds(kRetryNoSpaceMs));
  } else {
    for (const IngestOutcome& outcome : *outcomes) {
      if (outcome.refuse) send(*outcome.refuse);
    }
  }
  finish_ticket(ticket);
}

// ---- templates

void IngestSession::on(wire::Templates&& templates) {
  for (TemplateDef& definition : templates.templates) {
    const std::size_t bytes = definition.text.size() + sizeof definition;
    if (templates_bytes_ + bytes > hub_.options_.max_templates_bytes) {
      // What is forgotten here is asked for again with unknown_template.
      templates_.clear();
      attached_.clear();
      templates_bytes_ = 0;
    }
    const TemplateId id = definition.id;
    // Sent again, because a shard asked for it: give it to the shards again.
    for (auto& [job, ids] : attached_) ids.erase(id);
    auto [at, fresh] = templates_.insert_or_assign(id, std::move(definition));
    if (fresh) templates_bytes_ += bytes;
  }
}

wire::Templates IngestSession::attach_templates(const std::string& job,
                                                const std::vector<TemplateId>& ids) {
  wire::Templates templates;
  auto& attached = attached_[job];
  for (TemplateId id : ids) {
    const auto known = templates_.find(id);
    if (known == templates_.end() || !attached.insert(id).second) continue;
    templates.templates.push_back(known->second);
  }
  return templates;
}

void IngestSession::detach_templates(const std::string& job, const std::vector<TemplateId>& ids) {
  const auto attached = attached_.find(job);
  if (attached == attached_.end()) return;
  for (TemplateId id : ids) attached->second.erase(id);
}

// ---- blocks

void IngestSession::refuse(const wire::Block& envelope, wire::RefuseCode code, std::string message,
                           std::uint32_t retry_after_ms) {
  ++hub_.stats_.refused_blocks;
  wire::Refuse refusal;
  refusal.stream = envelope.stream;
  refusal.job = envelope.job;
  refusal.first = envelope.first;
  refusal.end = envelope.end;
  refusal.code = code;
  refusal.message = std::move(message);
  refusal.retry_after_ms = retry_after_ms;
  send(refusal);
}

void IngestSession::on(wire::Block&& block) {
  using wire::RefuseCode;
  if (block.job.empty() || problem_of_job_name(block.job)) {
    return refuse(block, RefuseCode::forbidden, "a block of no usable job", 0);
  }
  if (block.bytes.size() > hub_.options_.max_block) {
    return refuse(block, RefuseCode::too_large, "block", 0);
  }
  // One block more than the credit: what was sent before an ack arrived.
  if (in_flight_ > 0 &&
      in_flight_ + block.bytes.size() > hub_.options_.credit + hub_.options_.max_block) {
    return refuse(block, RefuseCode::overloaded, "more in flight than the credit", kRetryMs);
  }
  if (!hub_.leases_.may_send(agent_.first, block.stream.base, agent_.second)) {
    return refuse(block, RefuseCode::not_yours, "another agent holds the lease", kRetryMs);
  }
  auto header = parse_block_header(block.bytes);
  if (!header.ok()) {
    const auto code = header.error().code() == ErrorCode::unavailable ? RefuseCode::unsupported
                                                                      : RefuseCode::corrupt;
    return refuse(block, code, header.error().message(), 0);
  }

  hub_.agents_.stream_arrives(agent_.first, agent_.second, block.stream, block.job, block.end);
  BlockTicket ticket;
  ticket.ticket = take_ticket();
  ticket.bytes = block.bytes.size();
  ticket.envelope.stream = block.stream;
  ticket.envelope.job = block.job;
  ticket.envelope.first = block.first;
  ticket.envelope.end = block.end;
  wire::Templates templates = attach_templates(block.job, header->stored_templates);
  for (const TemplateDef& definition : templates.templates) {
    ticket.attached.push_back(definition.id);
  }
  std::vector<IngestItem> items;
  if (!templates.templates.empty()) items.push_back(std::move(templates));
  items.push_back(std::move(block));
  std::optional<UnixNanos> observed;
  if (header->lines > 0) observed = header->observed.min;
  in_flight_ += ticket.bytes;
  const bool queued = hub_.writers_.submit(
      job_key(ticket.envelope.job), std::move(items),
      [self = shared_from_this(), ticket](Result<std::vector<IngestOutcome>> outcomes) {
        self->on_block_done(ticket, std::move(outcomes));
      },
      observed);
  if (queued) return;
  in_flight_ -= ticket.bytes;
  detach_templates(ticket.envelope.job, ticket.attached);
  refuse(ticket.envelope, RefuseCode::overloaded, "the write queue is full", kRetryMs);
  finish_ticket(ticket.ticket);
}

void IngestSession::on_block_done(const BlockTicket& block,
                                  Result<std::vector<IngestOutcome>> outcomes) {
  in_flight_ -= block.bytes;
  if (end_after_loss()) return finish_ticket(block.ticket);
  const wire::Block& envelope = block.envelope;
  if (!outcomes.ok()) {
    detach_templates(envelope.job, block.attached);
    const bool full = outcomes.error().code() == ErrorCode::no_space;
    refuse(envelope, full ? wire::RefuseCode::no_space : wire::RefuseCode::overloaded,
           outcomes.error().message(), full ? kRetryNoSpaceMs : kRetryMs);
  } else {
    const IngestOutcome& outcome = outcomes->back();
    // Templates in front of the block: those that conflict were not stored, and must be given (and
    // refused) again with the next block that needs them.
    if (outcomes->size() > 1 && outcomes->front().refuse) {
      detach_templates(envelope.job, outcomes->front().refuse->templates);
    }
    if (outcome.refuse) {
      ++hub_.stats_.refused_blocks;
      detach_templates(envelope.job, outcome.refuse->templates);
      send(*outcome.refuse);
    } else {
      wire::Ack ack;
      ack.stream = envelope.stream;
      ack.job = envelope.job;
      ack.first = envelope.first;
      ack.end = envelope.end;
      send(ack);
    }
  }
  finish_ticket(block.ticket);
}

}  // namespace logarithm::aggregator
