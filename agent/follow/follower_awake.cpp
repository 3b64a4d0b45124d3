#include "agent/follow/tail.h"

// After a directory told its first write: its files are looked at until none of them grows.
namespace logarithm::agent {
namespace {

constexpr std::chrono::seconds kGrewLately{1};
// Between two times that a directory is armed: somebody may write to a file that is not ours.
constexpr std::chrono::seconds kArmAgain{1};
// More files in one directory than this are looked at in every fourth turn, but for those that grew
// lately.
constexpr std::size_t kFewTargets = 64;
constexpr std::uint64_t kTurns = 4;

}  // namespace

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
      target->tail->changed = true;  // read, without a look at its name
      calm = false;
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
