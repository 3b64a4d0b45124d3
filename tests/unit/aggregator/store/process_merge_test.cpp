#include "aggregator/store/process_merge.h"

#include <doctest/doctest.h>

namespace logarithm::aggregator {
namespace {

TEST_CASE("Process merge: an exit and known facts are never lost, newer ones win") {
  ProcessInfo known;
  known.exit = 100;
  known.exit_error = 3;
  known.exit_status = 9;
  known.last_seen = 90;
  known.rank = 2;
  known.rank_source = "RANK";
  known.user = "amy";
  ProcessInfo report;
  report.last_seen = 80;
  report.world_size = 4;
  report.user = "bob";

  const ProcessInfo merged = merge_process(known, report);

  CHECK(merged.exit == 100);
  CHECK(merged.exit_error == 3);
  CHECK(merged.exit_status == 9);
  CHECK(merged.last_seen == 90);
  CHECK(merged.rank == 2);
  CHECK(merged.rank_source == "RANK");
  CHECK(merged.world_size == 4);
  CHECK(merged.user == "bob");
}

}  // namespace
}  // namespace logarithm::aggregator
