#include <algorithm>
#include <type_traits>

#include "agent/uplink/uplink.h"
#include "common/base/logging.h"

// What the aggregator says, and what follows from it. No I/O: the send loop does what is noted
// here.
namespace logarithm::agent {
namespace {

constexpr int kMaxAttempts = 8;  // of one block in one session, but for overload
constexpr std::chrono::milliseconds kLeastPause{100};

}  // namespace

void Uplink::on_frame(wire::Frame frame) {
  std::visit(
      [this](auto&& body) {
        using Body = std::remove_cvref_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, wire::StreamState>) {
          oracle_.put(std::move(body));
        } else if constexpr (std::is_same_v<Body, wire::Welcome> ||
                             std::is_same_v<Body, wire::Ack> ||
                             std::is_same_v<Body, wire::Refuse> ||
                             std::is_same_v<Body, wire::ClockReply> ||
                             std::is_same_v<Body, wire::Flushed> ||
                             std::is_same_v<Body, wire::Goodbye>) {
          on(std::move(body));
        }
        // What only an agent says is skipped, as every frame of a type that we do not know.
      },
      std::move(frame));
}

void Uplink::on(wire::Welcome&& welcome) {
  if (welcome.protocol != wire::kProtocolVersion) {
    failure_ = Error(ErrorCode::unavailable,
                     "aggregator speaks protocol " + std::to_string(welcome.protocol));
    return;
  }
  welcome_ = std::move(welcome);
}

void Uplink::on(wire::Ack&& ack) {
  std::vector<std::uint64_t> numbers;
  for (auto at = by_first_.lower_bound({ack.stream, ack.first, 0}); at != by_first_.end(); ++at) {
    const auto& [stream, first, number] = *at;
    if (stream != ack.stream || first > ack.end) break;
    if (in_flight_.at(number).range.end <= ack.end) numbers.push_back(number);
  }
  if (numbers.empty()) ++stats_.unmatched;
  // What comes after a piece of a block follows it.
  std::erase_if(numbers, [this](std::uint64_t number) {
    const InFlight sent = in_flight_.at(number);
    if (sent.range.end >= sent.all_end) return false;
    Resend rest;
    rest.resume_at = sent.range.end;
    rest.plain = sent.plain;
    attempts_.erase(number);
    land(number);
    resends_[number] = rest;
    return true;
  });
  stats_.acked_blocks += numbers.size();
  done(std::move(numbers));
}

void Uplink::land(std::uint64_t number) {
  const auto found = in_flight_.find(number);
  if (found == in_flight_.end()) return;
  in_flight_bytes_ -= found->second.bytes;
  by_first_.erase({found->second.stream, found->second.range.first, number});
  in_flight_.erase(found);
}

void Uplink::done(std::vector<std::uint64_t> numbers) {
  for (const std::uint64_t number : numbers) {
    land(number);
    attempts_.erase(number);
  }
  // When the spool knows, it says that there is something new: there is credit again.
  landed_.insert(landed_.end(), numbers.begin(), numbers.end());
}

void Uplink::on(wire::Refuse&& refuse) {
  auto at = by_first_.lower_bound({refuse.stream, refuse.first, 0});
  while (at != by_first_.end() && std::get<0>(*at) == refuse.stream &&
         std::get<1>(*at) == refuse.first &&
         in_flight_.at(std::get<2>(*at)).range.end != refuse.end) {
    ++at;
  }
  const bool matches = at != by_first_.end() && std::get<0>(*at) == refuse.stream &&
                       std::get<1>(*at) == refuse.first;
  if (!matches) return refuse_fact(refuse);
  const std::uint64_t number = std::get<2>(*at);
  if (wire::is_retryable(refuse.code)) {
    refuse_retryable(number, refuse);
  } else {
    refuse_permanent(number, std::move(refuse));
  }
}

void Uplink::refuse_retryable(std::uint64_t number, const wire::Refuse& refuse) {
  using wire::RefuseCode;
  ++stats_.refused_retryable;
  const InFlight sent = in_flight_.at(number);
  if (refuse.code == RefuseCode::not_yours) {
    ++stats_.not_yours;
    oracle_.put_leased_elsewhere(sent.stream.base, sent.job);
    return done({number});
  }
  Resend how;
  how.resume_at = sent.range.first;
  how.plain = sent.plain;
  if (refuse.code == RefuseCode::overloaded || refuse.code == RefuseCode::no_space) {
    const auto pause = std::max(std::chrono::milliseconds(refuse.retry_after_ms), kLeastPause);
    pause_until_ = std::max(pause_until_, clock_.now() + pause);
  } else if (++attempts_[number] > kMaxAttempts) {
    wire::Refuse permanent = refuse;
    permanent.code = RefuseCode::unsupported;
    permanent.message = "still refused after " + std::to_string(kMaxAttempts) +
                        " attempts: " + std::string(wire::to_string(refuse.code)) + ": " +
                        refuse.message;
    return refuse_permanent(number, std::move(permanent));
  } else if (refuse.code == RefuseCode::overlap) {
    if (refuse.resume_at >= sent.all_end) return done({number});
    how.resume_at = std::max(refuse.resume_at, sent.range.first);
    ++stats_.recut;
  } else if (refuse.code == RefuseCode::unknown_stream) {
    how.with_infos = true;
  }
  // unknown_template needs nothing more: what is sent again brings all its definitions.
  land(number);
  resends_[number] = how;
}

// A block that is refused for good is encoded again without templates, or in smaller pieces: its
// lines are whole, only this form of them is not wanted. What is refused then has no other form.
void Uplink::refuse_permanent(std::uint64_t number, wire::Refuse refuse) {
  using wire::RefuseCode;
  const InFlight sent = in_flight_.at(number);
  Resend how;
  how.resume_at = sent.range.first;
  how.plain = sent.plain;
  if (refuse.code == RefuseCode::too_large) {
    how.max_bytes = sent.bytes / 2;  // until one line alone is over it
  } else if (refuse.code == RefuseCode::forbidden || sent.plain) {
    return give_up(number, std::move(refuse));
  } else {
    how.plain = true;
    attempts_.erase(number);
  }
  land(number);
  resends_[number] = how;
}

void Uplink::give_up(std::uint64_t number, wire::Refuse refuse) {
  ++stats_.refused_permanent;
  const InFlight sent = in_flight_.at(number);
  refuse.stream = sent.stream;
  refuse.job = sent.job;
  refuse.first = sent.range.first;
  refuse.end = sent.range.end;
  land(number);
  attempts_.erase(number);
  if (sent.range.end < sent.all_end) {
    Resend rest;
    rest.resume_at = sent.range.end;
    resends_[number] = rest;
  }
  dirty_ = true;
  worker_.post([spool = &spool_, number, refuse = std::move(refuse)](BlockingToken& token) {
    spool->refused(token, number, refuse);
  });
}

void Uplink::refuse_fact(const wire::Refuse& refuse) {
  // Closed or a gap of a stream that the aggregator does not know (any more): told again with it.
  if (refuse.code == wire::RefuseCode::unknown_stream &&
      ++info_attempts_[refuse.stream] <= kMaxAttempts) {
    infos_again_.push_back(refuse.stream);
    flush_spoiled_ = true;
    return;
  }
  ++stats_.unmatched;
  LGR_WARN("refused stream={} code={} message={}", to_text(refuse.stream),
           wire::to_string(refuse.code), refuse.message);
}

void Uplink::on(wire::ClockReply&& reply) {
  const UnixNanos now = clock_.wall_now();
  const UnixNanos error = ((now - reply.sent) - (reply.replied - reply.received)) / 2;
  if (error < 0) return;  // our clock stepped meanwhile
  stats_.clock_offset = ((reply.received - reply.sent) + (reply.replied - now)) / 2;
  stats_.clock_error = std::max<UnixNanos>(error, 1);
}

void Uplink::on(wire::Flushed&& flushed) {
  if (flushed.id != flushing_.id || flushing_.id == 0) return;
  if (flush_spoiled_) {
    // Something before it was refused: all facts are told again.
    flush_spoiled_ = false;
    unflushed_facts_.clear();
    flushing_ = {};
    cursor_.facts.clear();
    cursor_.facts_revision = 0;
    dirty_ = true;
    return;
  }
  confirmed_infos_ = std::max(confirmed_infos_, flushing_.info_revision);
  if (!flushing_.facts.empty()) {
    worker_.post([spool = &spool_, facts = std::move(flushing_.facts)](BlockingToken& token) {
      spool->facts_done(token, facts);
    });
  }
  flushing_ = {};
}

}  // namespace logarithm::agent
