#include "aggregator/triage/time_unit.h"

#include <doctest/doctest.h>

#include "common/line/template.h"

namespace logarithm::aggregator::triage {
namespace {

std::string masked(std::string_view body) {
  MaskedBody out;
  mask_text(body, out);
  return out.text;
}

TEST_CASE("Time unit: a number's name says it") {
  CHECK(time_unit("fwd_bwd_ms") == 1e6);
  CHECK(time_unit("step_time_s") == 1e9);
  CHECK_FALSE(time_unit("tokens_per_s").has_value());
  CHECK_FALSE(may_be_duration("fwd_bwd_ms"));
  CHECK(may_be_duration("batch_ready_in"));
  CHECK_FALSE(may_be_duration("loss"));
}

TEST_CASE("Time unit: or the text behind it") {
  CHECK(unit_behind(masked("iteration 120 | batch ready in 41233.1 ms"), "batch_ready_in") ==
        "_ms");
  CHECK(unit_behind(masked("step 7 elapsed time: 3.25 s, loss 2.1"), "elapsed_time") == "_s");
  CHECK(unit_behind(masked("Elapsed: 17 seconds"), "elapsed") == "_s");
}

TEST_CASE("Time unit: else there is none") {
  CHECK(unit_behind(masked("batch ready in 3 workers"), "batch_ready_in").empty());
  CHECK(unit_behind(masked("wait for shard 12"), "wait").empty());
  CHECK(unit_behind("", "wait").empty());
}

}  // namespace
}  // namespace logarithm::aggregator::triage
