#include <algorithm>
#include <utility>

#include "agent/follow/tail.h"
#include "common/base/logging.h"

// Files of network file systems, which the agents of many hosts see. One of them reads each: one on
// the host of its writer before others, else the first that asks. Claims spare the work and keep
// one set of attributes. What makes each line be there once is the store, as for all files: two
// agents that both read (the aggregator was restarted, the network was cut) lose and repeat
// nothing.
namespace logarithm::agent {
namespace {

constexpr std::chrono::seconds kWriterFirst{2};  // the writer's agent should be the first to ask
constexpr std::chrono::seconds kAskAgain{15};    // for what another agent reads
constexpr std::chrono::seconds kRenew{60};       // for what is read here
// Hundreds of agents may see thousands of files, so none asks more often than eight times a second
// on average. The aggregator forgets a claim after half an hour.
constexpr std::chrono::milliseconds kEach{125};
constexpr std::chrono::minutes kLongest{10};

}  // namespace

// What is imported, or read once, is read by whoever was told to.
Claim Follower::claim_of(const Tail& tail) const {
  if (!tail.network || tail.imported || options_.once) return Claim::none;
  const bool writer_here =
      std::any_of(tail.targets.begin(), tail.targets.end(),
                  [&](const Target* target) { return has_living_writer(target->facts); });
  return writer_here ? Claim::writer : Claim::reader;
}

MonotonicTime::duration Follower::paced(MonotonicTime::duration period) const {
  const MonotonicTime::duration all = kEach * claimed_;
  return std::clamp<MonotonicTime::duration>(all, period, kLongest);
}

Status Follower::resolve_claimed(BlockingToken& token, Tail& tail, Claim claim) {
  const StreamCheckpoint* known = newest_known(tail.base);
  if (known != nullptr) take_known_facts(tail, *known);
  if (claim == Claim::reader && !tail.ask_at && !tail.targets.empty()) {
    tail.asked_as = claim;
    leave(tail, kWriterFirst);
    return {};
  }
  const std::optional<wire::StreamState> state = stored_state(tail, claim);
  if (!state) return {};
  if (state->leased_elsewhere) {
    set_aside(tail);
    leave(tail, paced(kAskAgain));
    return {};
  }
  if (known != nullptr && is_behind(tail.base, *state)) {
    set_aside(tail);
    known = nullptr;
  }
  tail.ask_at = now_ + paced(kRenew);
  if (known == nullptr) return resume_stored(token, tail, *state);
  forget_answer(tail);
  return resume_known(token, tail);
}

// Another agent got further than we did, or saw the file being cut.
bool Follower::is_behind(const StreamBase& base, const wire::StreamState& state) const {
  const StreamCheckpoint* known = newest_known(base);
  return std::any_of(state.generations.begin(), state.generations.end(),
                     [&](const StoredGeneration& one) {
                       if (one.generation != known->stream.generation) {
                         return one.generation > known->stream.generation;
                       }
                       return !one.ranges.empty() && one.ranges.back().end > known->position;
                     });
}

void Follower::leave(Tail& tail, MonotonicTime::duration how_long) {
  forget_answer(tail);
  tail.state = Tail::State::elsewhere;
  tail.file.close();
  tail.original.reset();
  tail.ask_at = now_ + how_long;
}

// Our checkpoints of a file that another agent reads say nothing about where to go on later: the
// aggregator will. What they stand for is still sent.
void Follower::set_aside(Tail& tail) {
  const auto known = known_.find(tail.base);
  if (known == known_.end()) return;
  for (const auto& [generation, checkpoint] : known->second) {
    set_aside_[checkpoint.stream] = {checkpoint.attributes.job, checkpoint.position};
    tail.least_version = std::max(tail.least_version, checkpoint.attributes.version + 1);
  }
  known_.erase(known);
}

// Reading stops at the last whole line that was read; who reads it now goes on behind what is
// stored, so also what we have not sent yet may be read again there.
Status Follower::hand_over(BlockingToken& token, Tail& tail) {
  LGR_CHECK(tail.writer->commit(token));
  LGR_INFO("another agent reads it now stream={} at={}", to_text(tail.writer->stream()),
           tail.writer->spooled());
  ++stats_.handed_over;
  remember(tail.writer->checkpoint());
  set_aside(tail);
  stop_counting(tail);
  tail.writer.reset();
  tail.given_away = false;
  leave(tail, paced(kAskAgain));
  return {};
}

void Follower::renew(Tail& tail, Claim claim) {
  tail.asked_of = wanted_attributes(tail).job;
  tail.asked_as = claim;
  tail.ask_at = now_ + paced(kRenew);
  oracle_.ask(tail.base, tail.asked_of, claim);
}

Status Follower::renew_claims(BlockingToken& token) {
  claimed_ = 0;
  for (auto& [base, tail] : tails_) {
    const bool ended = tail->state == Tail::State::closed || tail->state == Tail::State::copy;
    if (!tail->ask_at || ended) continue;
    ++claimed_;
    const bool due = now_ >= *tail->ask_at;
    if (tail->state == Tail::State::elsewhere) {
      const bool news = std::exchange(tail->facts_changed, false);
      if (!due && !(news && claim_of(*tail) > tail->asked_as)) continue;
      tail->state = Tail::State::fresh;
      tail->changed = true;
      for (Target* target : tail->targets) target->looked = false;
    } else if (tail->state == Tail::State::live) {
      if (!tail->asked_of.empty()) {
        const std::optional<wire::StreamState> state = oracle_.answer(base, tail->asked_of);
        if (state) forget_answer(*tail);
        tail->given_away = tail->given_away || (state && state->leased_elsewhere);
      } else if (due) {
        renew(*tail, claim_of(*tail));
      }
      if (tail->given_away) LGR_CHECK(hand_over(token, *tail));
    }
  }
  return {};
}

// A checkpoint that is no longer ours is of no use once its blocks are stored.
Status Follower::forget_set_aside(BlockingToken& token) {
  for (auto at = set_aside_.begin(); at != set_aside_.end();) {
    const StreamId& stream = at->first;
    const bool again = checkpoint_of(stream).has_value();  // it is read here again
    if (!again) {
      if (!log_.acknowledged(stream, at->second.position)) {
        ++at;
        continue;
      }
      LGR_CHECK(log_.forget(token, stream));
    }
    at = set_aside_.erase(at);
  }
  return {};
}

std::size_t Follower::left_to_others() const {
  return static_cast<std::size_t>(std::count_if(
      tails_.begin(), tails_.end(),
      [](const auto& entry) { return entry.second->state == Tail::State::elsewhere; }));
}

}  // namespace logarithm::agent
