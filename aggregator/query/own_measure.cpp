#include "aggregator/query/own_measure.h"

#include <algorithm>
#include <iterator>

namespace logarithm::aggregator {

bool is_own_measure(std::string_view key) {
  static constexpr std::string_view kParts[] = {"time",   "elapsed",    "duration", "latency",
                                                "memory", "throughput", "tflop",    "per_s",
                                                "alloc",  "reserved",   "seconds",  "bandwidth"};
  static constexpr std::string_view kWords[] = {
      "ms",   "s",    "sec", "mfu",  "tps", "tgs",  "speed",  "mem",  "gpu",   "util",  "power",
      "temp", "rank", "pid", "port", "eta", "host", "device", "cuda", "local", "worker"};
  for (const std::string_view part : kParts) {
    if (key.find(part) != std::string_view::npos) return true;
  }
  for (std::size_t from = 0; from < key.size();) {
    const std::size_t to = std::min(key.find_first_of("_./- ", from), key.size());
    const std::string_view word = key.substr(from, to - from);
    if (std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) return true;
    from = to + 1;
  }
  return false;
}

}  // namespace logarithm::aggregator
