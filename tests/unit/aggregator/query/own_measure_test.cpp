#include "aggregator/query/own_measure.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "common/line/template.h"

namespace logarithm::aggregator {
namespace {

bool own_by_unit(std::string_view body, std::string_view key) {
  MaskedBody masked;
  mask_text(body, masked);
  const auto units = units_behind(masked.text, key);
  return std::any_of(units.begin(), units.end(), is_own_unit);
}

}  // namespace

TEST_CASE("is_own_measure: times, rates and memory by name, in any case") {
  for (const std::string key :
       {"step_time", "fwd_ms", "wait_us", "batch_ready_in", "ready_in", "took", "io_took",
        "elapsed", "latency_p99", "seconds", "it/s", "samples/s", "tokens_per_s",
        "samples_per_second", "TFLOPs", "stepTime", "throughput", "max_memory"}) {
    CAPTURE(key);
    CHECK(is_own_measure(key));
  }
  for (const std::string key : {"loss", "grad_norm", "lm_loss", "min_loss", "loss_min", "tokens",
                                "status", "params", "learning_rate", "already_inside"}) {
    CAPTURE(key);
    CHECK_FALSE(is_own_measure(key));
  }
}

TEST_CASE("units_behind: the unit of the number of that name") {
  struct {
    const char *body, *key;
    bool own;
  } const table[] = {
      {"iteration 25 | batch ready in 0.1 ms", "batch_ready_in", true},
      {"step 7 data 12ms fwd 3.5 s", "data", true},
      {"step 7 data 12ms fwd 3.5 s", "fwd", true},
      {"step 7 Data: 3 \u00b5s", "data", true},
      {"step 7 shards read = 3 min", "shards_read", true},
      {"step 7 | pace 812.5 tokens/s | loss 2.5", "pace", true},
      {"step 7 | pace 812.5 samples per second", "pace", true},
      {"step 7 | pace 3.2 s/it", "pace", true},
      {"step 7 | model 312.4 TFLOPs", "model", true},
      {"step 7 | pace 812.5 tokens/s | loss 2.5", "loss", false},
      {"step 7 | loss 2.5 s 3", "loss", false},
      {"step 7 grad 0.3 min 0.1 max 0.7", "grad", false},
      {"step 7 valloss 3 s, loss 2.5", "loss", false},
      {"batch ready in 3 workers", "batch_ready_in", false},
      {"step 7 sent 12 MB", "sent", false},
      {"", "loss", false},
  };
  for (const auto& [body, key, own] : table) {
    CAPTURE(body);
    CAPTURE(key);
    CHECK(own_by_unit(body, key) == own);
  }
}

}  // namespace logarithm::aggregator
