#include <doctest/doctest.h>

#include <algorithm>

#include "common/rules/rule_set.h"

// Kinds of lines that the second set of unseen shapes showed to be missing, and their neighbours.
namespace logarithm {
namespace {

const RuleSet& shipped() {
  static const std::shared_ptr<const RuleSet> rules = [] {
    std::vector<RuleProblem> problems;
    return RuleSet::build(RuleSet::shipped(), problems);
  }();
  return *rules;
}

Extraction extract(std::string_view body) {
  Extraction found;
  shipped().apply(body, "stderr", found);
  return found;
}

std::string value_of(const Extraction& found, std::string_view key) {
  for (const auto& pair : found.meta) {
    if (pair.key != key) continue;
    if (const auto* text = std::get_if<std::string>(&pair.value)) return *text;
    if (const auto* whole = std::get_if<std::int64_t>(&pair.value)) return std::to_string(*whole);
    return std::to_string(std::get<double>(pair.value));
  }
  return "";
}

struct Event {
  const char *body, *kind, *klass;
  Severity severity;
  const char *key, *value;
};

void check(const Event& c) {
  CAPTURE(std::string(c.body));
  const Extraction found = extract(c.body);
  CHECK(found.severity == c.severity);
  CHECK(value_of(found, c.key) == c.value);
  CHECK(std::any_of(found.events.begin(), found.events.end(), [&](const auto& event) {
    return event.kind == c.kind && event.klass == c.klass;
  }));
}

}  // namespace

TEST_CASE("Shipped kinds: drivers that name a device and what failed") {
  const Event cases[] = {
      {"mlx5_core 0000:d2:00.0: mlx5_cmd_out_err:838:(pid 1441871): ACCESS_REG(0x805) op_mod(0x1) "
       "failed, status bad operation(0x2), syndrome (0x9a6171), err(-22)",
       "network", "advice", Severity::warning, "pci", "0000:d2:00.0"},
      {"mlx5_core 0000:d2:00.0: wait_func:1104:(pid 77): CREATE_QP(0x500) timeout. Will cause a "
       "leak of a command resource",
       "network", "advice", Severity::warning, "pid", "77"},
      {"infiniband efa_0: Failed to process command ALLOC_PD (opcode 14) comp_status 1 err -12",
       "network", "root", Severity::error, "dev", "efa_0"},
      {"infiniband mlx5_3: Couldn't open port 1", "network", "root", Severity::error, "dev",
       "mlx5_3"},
      {"mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 4: a600000000020408", "memory", "root",
       Severity::error, "bank", "4"},
      {"EDAC skx MC3: CPU 10: Machine Check Event: 0 Bank 8: fc00010001010092", "memory", "root",
       Severity::error, "bank", "8"},
      {"mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 11: 8c00004f000800c2", "memory",
       "advice", Severity::warning, "bank", ""},
      {"NVRM: Xid (PCI:0018:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x8)",
       "xid", "root", Severity::error, "link", "13"},
      {"NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x0)", "xid",
       "root", Severity::error, "link", "-1"},
  };
  for (const Event& c : cases) check(c);
  CHECK(extract("nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context")
            .severity == Severity::error);
}

TEST_CASE("Shipped kinds: a fatal error of Python is a signal's, or the interpreter's own") {
  for (const char* signal :
       {"Segmentation fault", "Bus error", "Illegal instruction", "Floating point exception"}) {
    const std::string body = std::string("Fatal Python error: ") + signal;
    check({body.c_str(), "killed", "root", Severity::fatal, "fatal", signal});
  }
  for (const char* other : {"Aborted", "init_import_site: Failed to import the site module",
                            "Cannot recover from stack overflow.", "Segmentation faults follow"}) {
    const std::string body = std::string("Fatal Python error: ") + other;
    CAPTURE(body);
    CHECK(value_of(extract(body), "fatal") == other);
    REQUIRE(extract(body).events.size() == 1);
    CHECK(extract(body).events[0].kind == "exception");
  }
}

TEST_CASE("Shipped kinds: a shared file system names the node that does not answer") {
  const Event cases[] = {
      {"LustreError: 11-0: s-MDT0000-mdc-ff: operation obd_ping to node 10.30.1.4@o2ib failed: rc "
       "= -107",
       "storage", "root", Severity::error, "nid", "10.30.1.4@o2ib"},
      {"LNet: 2431:0:(o2iblnd_cb.c:3174:kiblnd_check_conns()) Timed out tx for 10.30.1.4@o2ib: 40 "
       "seconds",
       "storage", "root", Severity::warning, "nid", "10.30.1.4@o2ib"},
      {"LNetError: 7:0:(socklnd.c:1:f()) Connection refused by 10.30.1.4@tcp1", "storage", "root",
       Severity::warning, "nid", "10.30.1.4@tcp1"},
      {"Lustre: s-OST0004: Connection to s-OST0004 (at 10.30.1.4@o2ib) was lost; in progress",
       "storage", "root", Severity::warning, "nid", "10.30.1.4@o2ib"},
  };
  for (const Event& c : cases) check(c);
}

TEST_CASE("Shipped kinds: programs in Rust and Go that panic") {
  const Event cases[] = {
      {"thread 'tokio-runtime-worker' panicked at router/src/infer.rs:598:14:", "exception", "root",
       Severity::fatal, "", ""},
      {"thread 'main' (48213) panicked at src/main.rs:2:5:", "exception", "root", Severity::fatal,
       "", ""},
      {"thread 'main' has overflowed its stack", "exception", "root", Severity::fatal, "", ""},
      {"panic: runtime error: invalid memory address or nil pointer dereference", "exception",
       "root", Severity::fatal, "message",
       "runtime error: invalid memory address or nil pointer dereference"},
      {"fatal error: all goroutines are asleep - deadlock!", "exception", "root", Severity::fatal,
       "message", "all goroutines are asleep - deadlock!"},
  };
  for (const Event& c : cases) check(c);
  CHECK(extract("panic: a function of Go").events.empty());
  CHECK(extract("fatal error: stdio.h: No such file or directory").events.empty());
}

TEST_CASE("Shipped kinds: torchelastic's error file is an exception, its time in whole seconds") {
  const char* const file =
      R"({"message": {"message": "ValueError: bad \"shard\" 3", "extraInfo": {"py_callstack": )"
      R"("Traceback (most recent call last):\n  File \"t.py\", line 3\nValueError: bad\n", )"
      R"("timestamp": "1772668800"}}})";
  check({file, "exception", "root", Severity::error, "exc_type", "ValueError"});
  const Extraction found = extract(file);
  CHECK(value_of(found, "message") == R"(bad \"shard\" 3)");
  REQUIRE(found.time.has_value());
  CHECK(found.time->second == 0);
  // What follows the first 16 KiB is not looked at.
  const std::string cut = std::string(file).substr(0, 90) + std::string(20'000, 'x');
  check({cut.c_str(), "exception", "root", Severity::error, "exc_type", "ValueError"});
  CHECK_FALSE(extract(cut).time.has_value());
  CHECK(extract(R"({"message": {"message": "hello", "user": "x"}})").events.empty());
}

TEST_CASE("Shipped kinds: a number of a JSON line stays a number under the name it is unified to") {
  const auto step = [](const char* body) -> MetaValue {
    const Extraction found = extract(body);
    for (const auto& pair : found.meta) {
      if (pair.key == "step") return pair.value;
    }
    return std::string("none");
  };
  CHECK(step(R"({"step": 5, "loss": 2.5})") == MetaValue(std::int64_t{5}));
  CHECK(step(R"({"step": "5", "loss": 2.5})") == MetaValue(std::int64_t{5}));
  CHECK(step(R"({"current_steps": 40, "loss": 2.5})") == MetaValue(std::int64_t{40}));
  CHECK(step(R"({"global_step": 40.0, "loss": 2.5})") == MetaValue(40.0));
  CHECK(extract(R"({"step": 5, "loss": 2.5})").iteration == 5);
}

TEST_CASE("Shipped kinds: a store that no address leads to is a failed start") {
  check({"[c10d] The client socket has failed to connect to any network address of (n1, 29500).",
         "start", "root", Severity::error, "", ""});
  CHECK(extract("[c10d] The client socket has failed to connect to [n1]:29500 (errno: 110 - "
                "Connection timed out).")
            .events.empty());
}

TEST_CASE("Shipped kinds: the scheduler's memory kill names job and step, in both wordings") {
  const Event cases[] = {
      {"slurmstepd: error: Detected 2 oom_kill events in StepId=88123.13. Some of the step tasks "
       "have been OOM Killed.",
       "host_oom", "root", Severity::error, "step", "13"},
      {"slurmstepd: error: Detected 1 oom_kill event in StepId=88123.batch. Some of", "host_oom",
       "root", Severity::error, "step", "batch"},
      {"slurmstepd: error: Detected 1 oom-kill event(s) in step 88123.0 cgroup. Some of your "
       "processes",
       "host_oom", "root", Severity::error, "job", "88123"},
      {"slurmstepd: error: Detected 1 oom-kill event(s) in step 88123.0 cgroup.", "host_oom",
       "root", Severity::error, "step", "0"},
  };
  for (const Event& c : cases) check(c);
}

TEST_CASE("Shipped kinds: a rank that Lightning names is a mention") {
  const Extraction found = extract("Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/8");
  CHECK(value_of(found, "rank") == "3");
  CHECK(value_of(found, "world_size") == "8");
  CHECK_FALSE(found.mapping.has_value());
  CHECK(value_of(extract("LOCAL_RANK: 1 - CUDA_VISIBLE_DEVICES: [0,1,2,3]"), "local_rank") == "1");
}

TEST_CASE("Shipped kinds: progress whose numbers one blank parts") {
  const Extraction timm = extract(
      "Train Epoch: 2 [  6464/109468 (3%)] Loss: 0.97884 (1.023) Data (t): 0.158 Batch (t): 0.559, "
      "36.0876/s LR: 0.000001 Logit Scale: 99.995");
  CHECK(value_of(timm, "lr") == std::to_string(0.000001));
  CHECK(value_of(timm, "logit_scale") == std::to_string(99.995));
  CHECK(value_of(timm, "batch_t") == std::to_string(0.559));
  const Extraction paddle = extract(
      "Epoch: [3] [2087/7312] learning_rate: 0.000029 loss: 4.504654 loss_cls: 1.374781 ips: 96.1 "
      "images/s");
  CHECK(value_of(paddle, "loss") == std::to_string(4.504654));
  CHECK(value_of(paddle, "loss_cls") == std::to_string(1.374781));
  CHECK(value_of(paddle, "ips") == std::to_string(96.1));
}

TEST_CASE("Shipped kinds: an iteration that is the training's") {
  const Extraction dll = extract(
      "Training Epoch: 1 Training Iteration: 2872  step_loss : 0.69537  learning_rate : 1.58e-05 ");
  CHECK(dll.iteration == 2872);
  CHECK(value_of(dll, "epoch") == "1");
  CHECK(value_of(dll, "step_loss") == std::to_string(0.69537));
  const Extraction dino = extract(
      "Training  [  3280/164000]  eta: 1 day, 3:45:08  lr: 0.0004 (0.0003)  total_loss: 10.5893 "
      "(10.5912)  time: 1.157781  max mem: 11125");
  CHECK(dino.iteration == 3280);
  CHECK(dino.carry_iteration);
  CHECK(value_of(dino, "total_loss") == std::to_string(10.5893));
  CHECK(value_of(dino, "lr") == std::to_string(0.0004));
  CHECK_FALSE(extract("Training [1/3] of the course").iteration.has_value());
  const Extraction global = extract(
      "train | epoch   4 | inner iter:   0/  4 | ppo epoch:  1/ 4 | global iter:     69/   160| "
      "tot_loss: 6.2529 | reward: -1.2725 | lr: 3.3000e-06 | time: 0.366");
  CHECK(global.iteration == 69);
  CHECK(value_of(global, "tot_loss") == std::to_string(6.2529));
  CHECK(value_of(global, "reward") == std::to_string(-1.2725));
}

TEST_CASE("Shipped kinds: an iteration with separators is all of the number, a list its first") {
  struct Case {
    const char* body;
    std::int64_t iteration;
  };
  for (const Case& c :
       {Case{"iteration 1,234 | loss 2.5", 1234}, Case{"Step 12,345: loss 2.5", 12'345},
        Case{"Step 1,234,567 | loss 2.5", 1'234'567},
        Case{"iteration 1,234/10,000 | loss 2.5", 1234}, Case{"iteration 12,3456 | loss 2.5", 12},
        Case{"iteration 12 | loss 2.5", 12}}) {
    CAPTURE(std::string(c.body));
    const Extraction found = extract(c.body);
    CHECK(found.iteration == c.iteration);
    CHECK(value_of(found, "loss") == std::to_string(2.5));
  }
  const Extraction step = extract("step:12,345 - actor/entropy:0.412");
  CHECK(step.iteration == 12'345);
  CHECK(value_of(step, "step") == "12345");
}

TEST_CASE("Shipped kinds: the place in an epoch, whatever counts the epochs") {
  const Extraction dino = extract("Epoch: [1/100]  [2240/2502]  eta: 0:02:44  loss: 5.38 (7.54)");
  CHECK(value_of(dino, "epoch") == "1");
  CHECK(value_of(dino, "n") == "2240");
  CHECK(value_of(dino, "total") == "2502");
  const Extraction plain = extract("Train: [  50/625]  loss: 5.38 (7.54)");
  CHECK(value_of(plain, "n") == "50");
  CHECK(value_of(plain, "epoch") == "");
  const Extraction old = extract("| epoch 010  2000 / 8223 loss=1.27 (1.50), wps=962, lr=0.001");
  CHECK(value_of(old, "epoch") == "10");
  CHECK(value_of(old, "n") == "2000");
  CHECK(value_of(old, "total") == "8223");
}

TEST_CASE("Shipped kinds: a job step that does not start, and a test that fails") {
  check({"srun: error: Task launch for 23.0 failed on node hpc: Job prolog failed", "start", "root",
         Severity::error, "host", "hpc"});
  check({"srun: error: Application launch failed: Job prolog failed", "start", "root",
         Severity::error, "reason", "Job prolog failed"});
  check(
      {"srun: error: Unable to confirm allocation for job 60564: Unable to contact slurm "
       "controller (connect failure)",
       "start", "root", Severity::error, "job", "60564"});
  const Extraction test = extract("gpu-n017: Test NCCL failure /src/common.cu:1291 'unhandled'");
  CHECK(test.callsite == "/src/common.cu:1291");
  CHECK(test.severity == Severity::error);
  const Extraction timings = extract(
      "NCCL INFO Init timings - ncclCommInitRank: rank 1 nranks 2 total 1.43 (kernels 0.18)");
  CHECK(value_of(timings, "rank") == "1");
  CHECK(value_of(timings, "nranks") == "2");
}

}  // namespace logarithm
