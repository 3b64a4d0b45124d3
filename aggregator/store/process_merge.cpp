#include "aggregator/store/process_merge.h"

#include <algorithm>
#include <utility>

namespace logarithm::aggregator {
namespace {

template <typename T>
void keep(std::optional<T>& value, const std::optional<T>& known) {
  if (!value) value = known;
}
template <typename T>
void keep(T& value, const T& known) {
  if (value.empty()) value = known;
}

}  // namespace

ProcessInfo merge_process(const ProcessInfo& known, ProcessInfo report) {
  if (!report.exit && known.exit) {
    report.exit = known.exit;
    report.exit_error = known.exit_error;
  }
  keep(report.exit_status, known.exit_status);
  report.last_seen = std::max(report.last_seen, known.last_seen);
  if (!report.rank && known.rank) {
    report.rank = known.rank;
    report.rank_source = known.rank_source;
  }
  keep(report.local_rank, known.local_rank);
  keep(report.group_rank, known.group_rank);
  keep(report.world_size, known.world_size);
  keep(report.launcher, known.launcher);
  keep(report.restart_count, known.restart_count);
  keep(report.stated_attempt, known.stated_attempt);
  keep(report.identity, known.identity);
  keep(report.gpus, known.gpus);
  keep(report.container, known.container);
  keep(report.pod, known.pod);
  keep(report.user, known.user);
  keep(report.command, known.command);
  return report;
}

}  // namespace logarithm::aggregator
