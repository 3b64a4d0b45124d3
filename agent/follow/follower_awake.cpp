#include <algorithm>

#include "agent/follow/tail.h"

// After a directory told its first write: its files are looked at until none of them grows, those
// with few lines less often.
namespace logarithm::agent {
namespace {

constexpr std::chrono::seconds kGrewLately{1};
// Between two times that a directory is armed: somebody may write to a file that is not ours.
constexpr std::chrono::seconds kArmAgain{1};
// More files in one directory than this are looked at in every fourth turn, but for those that grew
// lately.
constexpr std::size_t kFewTargets = 64;
constexpr std::uint64_t kTurns = 4;
// A block costs as much as dozens of lines, and a look as much as a few. Streams with fewer lines
// than kBusy share so many small blocks a second; those with fewer than kSlow lines are looked at
// kLooks times for one block.
constexpr std::chrono::seconds kRates{1};
constexpr std::uint64_t kBusy = 20 * kSmallBlock, kSlow = 40;
constexpr int kSmallBlocks = 80;
constexpr int kLooks = 4;

}  // namespace

void Follower::begin_round() { looks_at_slow_ = now_ >= look_at_slow_ || now_ >= parts_.sweep_at; }

void Follower::end_round() {
  if (now_ >= next_rates_) {
    next_rates_ = now_ + kRates;
    share_small_blocks();
  }
  if (looks_at_slow_) look_at_slow_ = now_ + parts_.small_age / kLooks;
  if (now_ >= parts_.sweep_at) parts_.sweep_at = now_ + parts_.small_age;
}

void Follower::share_small_blocks() {
  std::size_t few = 0;
  for (auto& [base, tail] : tails_) {
    if (tail->state != Tail::State::live) continue;
    const std::uint64_t lines = tail->writer->take_lines();
    if (lines > 0 && lines < kBusy) ++few;
    tail->is_slow = lines < kSlow;
  }
  const auto fair = std::chrono::nanoseconds(kRates) / kSmallBlocks * few;
  parts_.small_age = std::clamp<std::chrono::nanoseconds>(
      fair, options_.block_age, std::max(options_.block_age, options_.small_age));
}

void Follower::look_at_awake_directories() {
  if (!watcher_.any_awake()) return;
  const auto grew = [this](const Target* target) {
    return target->tail != nullptr && target->tail->state == Tail::State::live &&
           now_ - target->tail->file.grown_at() < kGrewLately;
  };
  for (auto& [name, directory] : directories_) {
    if (!watcher_.is_awake(name)) continue;
    bool calm = true;
    for (const Target* target : directory.targets) {
      if (!grew(target)) continue;
      calm = false;
      // It is read, without a look at its name.
      if (looks_at_slow_ || !target->tail->is_slow) target->tail->changed = true;
    }
    const bool arms = calm && now_ >= directory.arm_at;
    if (arms) {
      watcher_.arm(name);
      directory.arm_at = now_ + kArmAgain;
    }
    // After it was armed all of them: what was written before told nothing.
    if (!arms && directory.targets.size() > kFewTargets && turn_ % kTurns != 0) continue;
    for (Target* target : directory.targets) {
      if (!grew(target)) target->looked = false;
    }
  }
}

}  // namespace logarithm::agent
