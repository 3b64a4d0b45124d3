#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "common/rules/rule_set.h"

namespace logarithm {
namespace {

const RuleSet& shipped() {
  static const std::shared_ptr<const RuleSet> rules = [] {
    std::vector<RuleProblem> problems;
    auto built = RuleSet::build(RuleSet::shipped(), problems);
    for (const auto& problem : problems) FAIL(problem.to_string());
    return built;
  }();
  return *rules;
}

Extraction extract(std::string_view body, std::string_view stream = "stderr") {
  Extraction found;
  shipped().apply(body, stream, found);
  return found;
}

std::string meta_keys(const Extraction& found) {
  std::string out;
  for (const auto& pair : found.meta) out += (out.empty() ? "" : " ") + pair.key;
  return out;
}

}  // namespace

TEST_CASE("Shipped rules: load without a problem and are the files of config/rules") {
  CHECK(shipped().size() > 20);
  for (const auto& source : RuleSet::shipped()) {
    CAPTURE(source.file);
    std::ifstream file(std::string(LGR_SOURCE_DIR) + "/" + source.file);
    std::stringstream text;
    text << file.rdbuf();
    CHECK(text.str() == source.yaml);
  }
}

TEST_CASE("Shipped rules: progress lines give iteration and metrics") {
  struct Case {
    const char* body;
    std::int64_t iteration;
    const char* keys;
  };
  const Case cases[] = {
      {"iteration 60 | loss 0.5 | grad_norm 1.2 | lr 1.0e-02 | 12.3 ms", 60, "loss grad_norm lr"},
      {"iteration 60 | batch ready in 0.1 ms", 60, "batch_ready_in"},
      {"step=60 loss=0.123456 grad_norm=nan", 60, "step loss grad_norm"},
      {"step=1200 loss=2.3105 grad_norm=0.911 tokens_per_s=48213.5", 1200,
       "step loss grad_norm tokens_per_s"},
      {"step 7 | loss 1.000 | grad_norm inf | lr 3.0e-04 | 780 ms | tokens 4194304", 7,
       "step loss grad_norm lr tokens"},
      {" iteration      120/  500000 | consumed samples:        30720 | lm loss: 7.123456E+00 |",
       120, "iterations consumed_samples lm_loss"},
      {"step: 120  loss:  6.1384  grad_norm:  0.8319  memory: 49.66GiB(52.28%)  tps: 5,856", 120,
       "step loss grad_norm mem_gib mem_pct tps"},
      {"step:12 - actor/entropy:0.412 - critic/rewards/mean:0.53125", 12,
       "step actor_entropy critic_rewards_mean"},
      {"step 120 loss 2.31", 120, "step loss"},
      {"iteration 5: forward 1.0 ms", 5, ""},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.body));
    const Extraction found = extract(c.body, "stdout");
    CHECK(found.iteration == c.iteration);
    CHECK(found.carry_iteration);
    CHECK(meta_keys(found) == c.keys);
    CHECK_FALSE(found.severity.has_value());
    CHECK(found.events.empty());
  }
}

TEST_CASE("Shipped rules: the value of one pair is no part of the next one's key") {
  struct Case {
    const char* body;
    const char* keys;
  };
  const Case cases[] = {
      {"step 5 phase=warm loss=1.5", "step loss"},
      {"epoch=1 mode=train loss=0.5 lr=0.1", "epoch loss lr"},
      {"iter 7 rank=3 host=n1 loss=0.25", "rank iter loss"},
      {"step 13 status=ok grad_norm=2 loss=3", "step grad_norm loss"},
      {"step = 5 mode = train loss = 0.5", "step loss"},
      {"step:5 phase:warm loss:1.5", "step loss"},
      {"step 8 phase=\"warm\" loss=1.5", "step loss"},
      {"iter 3 device=cuda:0 loss=3", "iter loss"},
      // Keys of several words, and what they are of.
      {"step 7: == train loss 2.5 ==", "step train_loss"},
      {"epoch 3 step 4 run:loss:1.5", "epoch step loss"},
      {"iteration 7 train loss 0.5 | lm loss: 3", "train_loss lm_loss"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.body);
    CHECK(meta_keys(extract(one.body)) == one.keys);
  }
}

TEST_CASE("Shipped rules: ordinary lines give nothing") {
  for (const char* body :
       {"ranks 2 of 4 groups, pid 9693", "iteration: 0", "num_parameter_tensors: 4", "done", "",
        "    raise RuntimeError(f\"bad sample\")", "step 1 of the plan",
        "Step 3: set the value to 5",
        "for i in range(0, n, step=2):", "numbers = np.arange(start=1, stop=9, step=2)",
        "| step | loss |", "step=3", "epoch", "Error: 3", "loss"}) {
    CAPTURE(std::string(body));
    CHECK(extract(body).empty());
  }
}

TEST_CASE("Shipped rules: a rank of a world is a mention, and no severity") {
  const Extraction found = extract("rank 2 of 4 ready, pid 9693");
  CHECK_FALSE(found.severity.has_value());
  CHECK_FALSE(found.iteration.has_value());
  CHECK_FALSE(found.mapping.has_value());
  CHECK(meta_keys(found) == "rank world_size pid");
  REQUIRE(found.events.size() == 1);
  CHECK(found.events[0].kind == "rank_named");
}

TEST_CASE("Shipped rules: what breaks a job is marked with its kind and class") {
  struct Case {
    const char *body, *stream, *kind, *klass;
  };
  const Case cases[] = {
      {"RuntimeError: bad sample in shard 2: expected 64", "stderr", "exception", "root"},
      {"torch.distributed.DistBackendError: NCCL error in: x", "stderr", "exception", "root"},
      {"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "stderr",
       "child_failed", "cascade"},
      {"RuntimeError: NCCL communicator was aborted on rank 3.", "stderr", "peer_lost", "cascade"},
      {"KeyboardInterrupt", "stderr", "exception", "root"},
      {"RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:1",
       "stderr", "peer_lost", "cascade"},
      {"grad_norm is nan for 20 iterations, stopping", "stderr", "nan", "root"},
      {"FloatingPointError: gradient is nan", "stderr", "nan", "root"},
      {"[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, "
       "OpType=ALLREDUCE, "
       "NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.",
       "stderr", "collective_timeout", "cascade"},
      {"slurmstepd: error: *** STEP 88123.0 ON gpu-n017 CANCELLED AT 2026-03-04T05:06:07 DUE TO "
       "TIME "
       "LIMIT ***",
       "stderr", "preemption", "root"},
      {"srun: error: gpu-n018: tasks 8-11,13: Exited with exit code 1", "stderr", "child_failed",
       "cascade"},
      {"NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", "kernel", "xid", "root"},
      {"Memory cgroup out of memory: Killed process 48213 (python3) total-vm:1kB", "kernel",
       "host_oom", "root"},
      {"failed (exitcode: -9) local_rank: 5 (pid: 48213) of binary: /srv/python3", "stderr",
       "child_failed", "cascade"},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.body));
    const Extraction found = extract(c.body, c.stream);
    REQUIRE_FALSE(found.events.empty());
    CHECK(found.events[0].kind == c.kind);
    CHECK(found.events[0].klass == c.klass);
    REQUIRE(found.severity.has_value());
    CHECK(*found.severity >= Severity::error);
  }
}

TEST_CASE("Shipped rules: thousands are one number, a list after a metric is not part of it") {
  const Extraction found = extract("step=7 tokens=5,856 loss=0.5,lr=2", "stdout");
  REQUIRE(meta_keys(found) == "step tokens loss lr");
  CHECK(std::get<double>(found.meta[1].value) == 5856);
  CHECK(std::get<double>(found.meta[2].value) == 0.5);
}

TEST_CASE("Shipped rules: a rank in the text is metadata, a mention") {
  const Extraction found = extract(
      "gpu-n017:48213:48377 [3] NCCL INFO comm 0x55d8a0 rank 11 nranks 16 cudaDev 3 busId 5d000 - "
      "Init "
      "COMPLETE");
  const auto rank = std::find_if(found.meta.begin(), found.meta.end(),
                                 [](const MetaPair& pair) { return pair.key == "rank"; });
  REQUIRE(rank != found.meta.end());
  CHECK(std::get<std::int64_t>(rank->value) == 11);
}

}  // namespace logarithm
