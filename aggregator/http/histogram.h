#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace logarithm::aggregator {

// A Prometheus histogram of durations. Thread-safe.
class Histogram {
 public:
  void observe(std::chrono::nanoseconds duration);
  // Appends `name`_bucket, _sum and _count with their TYPE line.
  void write(std::string& out, std::string_view name) const;

 private:
  static constexpr std::array<double, 14> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                     0.25,  0.5,    1,     2.5,  5,     10,   30};
  std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> counts_{};
  std::atomic<std::uint64_t> sum_nanos_{0};
};

}  // namespace logarithm::aggregator
