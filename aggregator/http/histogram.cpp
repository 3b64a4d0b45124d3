#include "aggregator/http/histogram.h"

#include <algorithm>
#include <cstdio>

namespace logarithm::aggregator {

void Histogram::observe(std::chrono::nanoseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  counts_[static_cast<std::size_t>(bound - kBounds.begin())].fetch_add(1);
  sum_nanos_.fetch_add(static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0)));
}

void Histogram::write(std::string& out, std::string_view name) const {
  const std::string base(name);
  out += "# TYPE " + base + " histogram\n";
  std::uint64_t total = 0;
  char bound[32];
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    total += counts_[i].load();
    std::snprintf(bound, sizeof bound, "%g", kBounds[i]);
    out += base + "_bucket{le=\"" + bound + "\"} " + std::to_string(total) + "\n";
  }
  total += counts_.back().load();
  out += base + "_bucket{le=\"+Inf\"} " + std::to_string(total) + "\n";
  std::snprintf(bound, sizeof bound, "%.9f", static_cast<double>(sum_nanos_.load()) / 1e9);
  out += base + "_sum " + bound + "\n" + base + "_count " + std::to_string(total) + "\n";
}

}  // namespace logarithm::aggregator
