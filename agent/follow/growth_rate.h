#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "common/base/clock.h"

namespace logarithm::agent {

// How fast a file grew during the last five seconds, from the sizes seen. With it the follower
// estimates whether bytes were written between its last look and a truncation.
class GrowthRate {
 public:
  void saw(MonotonicTime now, std::uint64_t size) {
    if (!samples_.empty() && size < samples_.back().size) samples_.clear();
    if (samples_.size() >= 2 && now - samples_[samples_.size() - 2].at < kGrain) {
      samples_.back() = {now, size};
    } else {
      samples_.push_back({now, size});
    }
    while (samples_.size() > 2 && now - samples_[1].at >= kWindow) samples_.pop_front();
  }
  // Bytes a second over the window that ends at `now`; at least one second is counted.
  double bytes_per_second(MonotonicTime now) const {
    if (samples_.empty()) return 0;
    const auto from = now - kWindow;
    const Sample* first = &samples_.front();
    for (const Sample& sample : samples_) {
      if (sample.at <= from) first = &sample;
    }
    const double grown = static_cast<double>(samples_.back().size - first->size);
    const double seconds = std::chrono::duration<double>(now - first->at).count();
    return grown / (seconds < 1 ? 1 : seconds);
  }
  void clear() { samples_.clear(); }

 private:
  static constexpr std::chrono::milliseconds kGrain{250};
  static constexpr std::chrono::seconds kWindow{5};
  struct Sample {
    MonotonicTime at;
    std::uint64_t size;
  };
  std::deque<Sample> samples_;
};

}  // namespace logarithm::agent
