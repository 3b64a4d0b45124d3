#include <doctest/doctest.h>

#include "agent/discover/process_table.h"
#include "common/async/worker_pool.h"
#include "tests/support/fake_proc.h"

// One made-up /proc tree for each row of the table of launchers: who is a rank, and who only starts
// some.
namespace logarithm::agent {
namespace {

using test::FakeProc;
using Variables = std::map<std::string, std::string>;
using Optional = std::optional<std::int32_t>;

constexpr UnixNanos kSecond = 1'000'000'000;
constexpr UnixNanos kStart = FakeProc::kBoot + 100 * kSecond;

Variables operator+(Variables a, const Variables& b) {
  for (const auto& [name, value] : b) a[name] = value;
  return a;
}
std::string text(std::int32_t number) { return std::to_string(number); }

struct Tree {
  FakeProc proc;
  ProcFs fs{proc.root()};
  ProcessTable table{fs, "host1", 0};
  WorkerPool pool{1};

  void put(std::int32_t pid, std::int32_t parent, const Variables& environment,
           std::vector<std::string> command, const std::string& cgroup = "0::/user.slice\n") {
    FakeProc::Process process{.pid = pid, .parent = parent, .environment = environment};
    process.name = command.front().substr(command.front().rfind('/') + 1).substr(0, 15);
    process.command = std::move(command);
    process.cgroup = cgroup;
    proc.put(process);
  }
  // The living ranks by pid.
  std::map<std::int32_t, ProcessInfo> ranks() {
    REQUIRE(
        pool.run_and_wait([&](BlockingToken& token) { return table.scan(token, kStart); }).ok());
    std::map<std::int32_t, ProcessInfo> out;
    for (const auto& [key, rank] : table.ranks()) {
      if (!rank.info.exit && rank.info.rank) out[rank.info.pid] = rank.info;
    }
    return out;
  }
};

struct Place {
  Optional rank, local_rank, group_rank, world;
};
void check(const ProcessInfo& info, const Place& place, const std::string& job,
           const std::string& launcher, const std::string& source) {
  CHECK(info.rank == place.rank);
  CHECK(info.local_rank == place.local_rank);
  CHECK(info.group_rank == place.group_rank);
  CHECK(info.world_size == place.world);
  CHECK(info.job == job);
  CHECK(info.launcher == launcher);
  CHECK(info.rank_source == source);
}

const std::vector<std::string> kTrain = {"python3", "train.py"};

Variables torchrun_worker(int rank, int local, int group, int world, const std::string& id = "llm",
                          int restart = 0) {
  return {{"TORCHELASTIC_RUN_ID", id},
          {"RANK", text(rank)},
          {"LOCAL_RANK", text(local)},
          {"GROUP_RANK", text(group)},
          {"WORLD_SIZE", text(world)},
          {"LOCAL_WORLD_SIZE", "2"},
          {"ROLE_RANK", text(rank)},
          {"ROLE_NAME", "default"},
          {"TORCHELASTIC_RESTART_COUNT", text(restart)},
          {"TORCHELASTIC_MAX_RESTARTS", "3"},
          {"MASTER_ADDR", "node0"},
          {"MASTER_PORT", "29500"}};
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: torchrun's workers are the ranks, with restart count") {
  put(10, 1, {}, {"/usr/bin/python3", "/usr/bin/torchrun", "--nproc-per-node=2", "train.py"});
  put(11, 10, torchrun_worker(2, 0, 1, 4, "llm", 2), kTrain);
  put(12, 10, torchrun_worker(3, 1, 1, 4, "llm", 2), kTrain);
  put(13, 12, torchrun_worker(3, 1, 1, 4, "llm", 2), kTrain);  // a data loader

  const auto found = ranks();

  REQUIRE(found.size() == 2);
  check(found.at(11), {2, 0, 1, 4}, "llm", "torchrun", "RANK");
  check(found.at(12), {3, 1, 1, 4}, "llm", "torchrun", "RANK");
  CHECK(found.at(12).restart_count == 2);
  CHECK(found.at(12).identity.at("TORCHELASTIC_MAX_RESTARTS") == "3");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: torchrun without a run id has the rendezvous's job") {
  put(10, 1, {}, {"python3", "-m", "torch.distributed.run", "train.py"});
  put(11, 10, torchrun_worker(0, 0, 0, 1, "none"), kTrain);

  const auto found = ranks();

  REQUIRE(found.size() == 1);
  check(found.at(11), {0, 0, 0, 1}, "node0:29500", "torchrun", "RANK");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: srun starts the tasks, and the batch script is none") {
  const Variables job = {
      {"SLURM_JOB_ID", "77"}, {"SLURM_JOB_NAME", "llm"},    {"SLURM_NTASKS", "8"},
      {"SLURM_NPROCS", "8"},  {"SLURM_PROCID", "0"},        {"SLURM_LOCALID", "0"},
      {"SLURM_NODEID", "0"},  {"SLURMD_NODENAME", "node0"}, {"SLURM_RESTART_COUNT", "1"}};
  put(9, 1, {}, {"slurmstepd: [77.batch]"});
  put(10, 9, job, {"/bin/bash", "/var/spool/slurmd/job77/slurm_script"});
  put(11, 10, job, {"srun", "python3", "train.py"});
  put(19, 1, {}, {"slurmstepd: [77.0]"});
  for (int task = 0; task < 2; ++task) {
    put(20 + task, 19,
        job + Variables{{"SLURM_STEP_ID", "0"},
                        {"SLURM_PROCID", text(4 + task)},
                        {"SLURM_LOCALID", text(task)},
                        {"SLURM_NODEID", "1"}},
        kTrain);
  }

  const auto found = ranks();

  REQUIRE(found.size() == 2);
  check(found.at(20), {4, 0, 1, 8}, "77", "slurm", "SLURM_PROCID");
  check(found.at(21), {5, 1, 1, 8}, "77", "slurm", "SLURM_PROCID");
  CHECK(found.at(21).restart_count == 1);
  CHECK(found.at(21).identity.at("SLURM_STEP_ID") == "0");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: an array task's job is named after the array") {
  put(20, 1,
      {{"SLURM_JOB_ID", "81"},
       {"SLURM_ARRAY_JOB_ID", "78"},
       {"SLURM_ARRAY_TASK_ID", "3"},
       {"SLURM_STEP_ID", "0"},
       {"SLURM_PROCID", "0"},
       {"SLURM_NTASKS", "1"}},
      kTrain);

  CHECK(ranks().at(20).job == "78_3");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: under `srun torchrun` PROCID is the node, RANK the rank") {
  const Variables node = {{"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"},
                          {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "1"},  {"SLURM_NTASKS", "2"},
                          {"PMI_RANK", "1"},      {"PMI_SIZE", "2"}};
  put(10, 1, node, {"bash", "-c", "torchrun …"});
  put(11, 10, node, {"/usr/bin/python3", "/opt/bin/torchrun", "train.py"});

  SUBCASE("before the workers are there, nobody is a rank") {
    CHECK(ranks().empty());
    return;
  }
  put(12, 11, node + torchrun_worker(2, 0, 1, 4, "none"), kTrain);
  put(13, 11, node + torchrun_worker(3, 1, 1, 4, "none"), kTrain);
  const auto found = ranks();

  REQUIRE(found.size() == 2);
  check(found.at(12), {2, 0, 1, 4}, "77", "torchrun", "RANK");
  check(found.at(13), {3, 1, 1, 4}, "77", "torchrun", "RANK");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: Open MPI's NODE_RANK is no node's number") {
  put(10, 1, {}, {"mpirun", "-np", "4", "python3", "train.py"});
  for (int rank = 0; rank < 2; ++rank) {
    put(11 + rank, 10,
        {{"OMPI_COMM_WORLD_RANK", text(2 + rank)},
         {"OMPI_COMM_WORLD_LOCAL_RANK", text(rank)},
         {"OMPI_COMM_WORLD_NODE_RANK", text(rank)},
         {"OMPI_COMM_WORLD_SIZE", "4"},
         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
         {"PMIX_RANK", text(2 + rank)},
         {"PMIX_NAMESPACE", "prterun-node0-10@1"}},
        kTrain);
  }

  const auto found = ranks();

  REQUIRE(found.size() == 2);
  check(found.at(12), {3, 1, {}, 4}, "prterun-node0-10@1", "openmpi", "OMPI_COMM_WORLD_RANK");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: Open MPI 4 names the job by its own id") {
  put(11, 1,
      {{"OMPI_COMM_WORLD_RANK", "0"},
       {"OMPI_COMM_WORLD_SIZE", "1"},
       {"OMPI_MCA_ess_base_jobid", "1234567"}},
      kTrain);
  CHECK(ranks().at(11).job == "1234567");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: MPICH and Intel MPI by PMI_RANK") {
  put(9, 1, {}, {"mpiexec.hydra", "-n", "4", "./train"});
  put(10, 9, {}, {"hydra_pmi_proxy", "--control-port", "node0:1"});
  for (int rank = 0; rank < 2; ++rank) {
    put(11 + rank, 10,
        {{"PMI_RANK", text(rank)},
         {"PMI_SIZE", "4"},
         {"MPI_LOCALRANKID", text(rank)},
         {"PMI_JOBID", "kvs_9_0"}},
        {"./train"});
  }

  const auto found = ranks();

  REQUIRE(found.size() == 2);
  check(found.at(12), {1, 1, {}, 4}, "kvs_9_0", "mpich", "PMI_RANK");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: MVAPICH by its own variables") {
  put(11, 1,
      {{"MV2_COMM_WORLD_RANK", "5"},
       {"MV2_COMM_WORLD_LOCAL_RANK", "1"},
       {"MV2_COMM_WORLD_SIZE", "8"},
       {"SLURM_JOB_ID", "90"}},
      {"./train"});
  check(ranks().at(11), {5, 1, {}, 8}, "90", "mvapich", "MV2_COMM_WORLD_RANK");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: srun with PMIx gives PMIX_RANK and Slurm's places") {
  put(11, 1,
      {{"PMIX_RANK", "3"},
       {"PMIX_NAMESPACE", "slurm.pmix.90.0"},
       {"SLURM_JOB_ID", "90"},
       {"SLURM_STEP_ID", "0"},
       {"SLURM_STEP_NUM_TASKS", "4"},
       {"SLURM_PROCID", "3"},
       {"SLURM_LOCALID", "1"},
       {"SLURM_NODEID", "1"},
       {"SLURM_NTASKS", "4"}},
      {"./train"});
  check(ranks().at(11), {3, 1, 1, 4}, "90", "pmix", "PMIX_RANK");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: Horovod with gloo, and under mpirun Open MPI's wins") {
  const Variables horovod = {{"HOROVOD_RANK", "1"},
                             {"HOROVOD_LOCAL_RANK", "1"},
                             {"HOROVOD_CROSS_RANK", "0"},
                             {"HOROVOD_SIZE", "2"},
                             {"HOROVOD_LOCAL_SIZE", "2"},
                             {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "10.0.0.1"},
                             {"HOROVOD_GLOO_RENDEZVOUS_PORT", "4000"}};
  put(10, 1, {}, {"/usr/bin/python3", "/usr/bin/horovodrun", "-np", "2", "python3", "train.py"});
  put(11, 10, horovod, kTrain);
  put(12, 10,
      horovod + Variables{{"OMPI_COMM_WORLD_RANK", "0"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                          {"OMPI_COMM_WORLD_SIZE", "2"}},
      kTrain);

  const auto found = ranks();

  REQUIRE(found.size() == 2);
  check(found.at(11), {1, 1, 0, 2}, "10.0.0.1:4000", "horovod", "HOROVOD_RANK");
  check(found.at(12), {0, 0, {}, 2}, "10.0.0.1:4000", "openmpi", "OMPI_COMM_WORLD_RANK");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: DeepSpeed's launcher and runner are no ranks") {
  put(9, 1, {}, {"/usr/bin/python3", "/usr/bin/deepspeed", "train.py"});
  put(10, 9, {},
      {"python3", "-u", "-m", "deepspeed.launcher.launch", "--world_info=x", "train.py"});
  for (int rank = 0; rank < 2; ++rank) {
    put(11 + rank, 10,
        {{"RANK", text(4 + rank)},
         {"LOCAL_RANK", text(rank)},
         {"CROSS_RANK", "2"},
         {"CROSS_SIZE", "4"},
         {"LOCAL_SIZE", "2"},
         {"WORLD_SIZE", "8"},
         {"MASTER_ADDR", "node0"},
         {"MASTER_PORT", "29500"},
         {"CUDA_VISIBLE_DEVICES", "0,1"}},
        {"python3", "-u", "train.py", "--local_rank=" + text(rank)});
  }

  const auto found = ranks();

  REQUIRE(found.size() == 2);
  check(found.at(12), {5, 1, 2, 8}, "node0:29500", "deepspeed", "RANK");
  CHECK_FALSE(found.at(12).identity.contains("CUDA_VISIBLE_DEVICES"));
  CHECK(table.ranks().begin()->second.visible_gpus == "0,1");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: Accelerate's workers are torchrun's, by another name") {
  put(10, 1, {}, {"/usr/bin/python3", "/usr/bin/accelerate", "launch", "train.py"});
  put(11, 10, torchrun_worker(1, 1, 0, 2) + Variables{{"ACCELERATE_MIXED_PRECISION", "bf16"}},
      kTrain);
  check(ranks().at(11), {1, 1, 0, 2}, "llm", "accelerate", "RANK");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: a Ray worker has no rank until a line names it") {
  put(10, 1, {}, {"/usr/lib/raylet", "--node"});
  put(11, 10, {{"RAY_JOB_ID", "01000000"}}, {"ray::_RayTrainWorker__execute"});
  CHECK(ranks().empty());
  table.mention(11, {.rank = 0, .local_rank = 0, .world_size = 2, .job = "x"}, "", kStart);
  check(ranks().at(11), {0, 0, {}, 2}, "01000000", "ray", "mapping");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: in a pod RANK and WORLD_SIZE count pods above torchrun") {
  const std::string uid = "0a1b2c3d-1111-2222-3333-444455556666";
  const std::string cgroup = "0::/kubepods/burstable/pod" + uid + "/" + std::string(64, 'e') + "\n";
  const Variables pod = {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                         {"HOSTNAME", "llm7-worker-0"},
                         {"RANK", "1"},
                         {"WORLD_SIZE", "2"},
                         {"PET_NNODES", "2"},
                         {"PET_NPROC_PER_NODE", "2"},
                         {"PET_NODE_RANK", "1"},
                         {"JOB_COMPLETION_INDEX", "1"},
                         {"MASTER_ADDR", "llm7-master-0"},
                         {"MASTER_PORT", "23456"}};
  put(10, 1, pod, {"/bin/sh", "-c", "torchrun train.py"}, cgroup);
  put(11, 10, pod, {"/usr/bin/python3", "/usr/bin/torchrun", "train.py"}, cgroup);
  put(12, 11, pod + torchrun_worker(2, 0, 1, 4, "none"), kTrain, cgroup);
  put(13, 11, pod + torchrun_worker(3, 1, 1, 4, "none"), kTrain, cgroup);

  const auto found = ranks();

  REQUIRE(found.size() == 2);
  check(found.at(12), {2, 0, 1, 4}, "llm7", "torchrun", "RANK");
  check(found.at(13), {3, 1, 1, 4}, "llm7", "torchrun", "RANK");
  CHECK(found.at(13).pod == uid);
  CHECK(found.at(13).container == std::string(64, 'e'));
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: a pod with one process per pod has the pod's RANK") {
  put(10, 1,
      {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
       {"HOSTNAME", "llm7-worker-0"},
       {"RANK", "1"},
       {"WORLD_SIZE", "2"}},
      kTrain);
  check(ranks().at(10), {1, {}, {}, 2}, "llm7", "env", "RANK");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: JAX in both spellings; one process may own eight GPUs") {
  put(10, 1,
      {{"JAX_PROCESS_ID", "1"},
       {"JAX_NUM_PROCESSES", "2"},
       {"JAX_COORDINATOR_ADDRESS", "node0:1234"}},
      kTrain);
  put(11, 1,
      {{"JAX_PROCESS_INDEX", "0"},
       {"JAX_PROCESS_COUNT", "2"},
       {"JAX_COORDINATOR_ADDRESS", "node0:1234"}},
      kTrain);

  const auto found = ranks();

  check(found.at(10), {1, {}, {}, 2}, "node0:1234", "jax", "JAX_PROCESS_ID");
  check(found.at(11), {0, {}, {}, 2}, "node0:1234", "jax", "JAX_PROCESS_INDEX");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: JAX under Slurm takes PROCID, as no launcher sets more") {
  put(10, 1,
      {{"SLURM_JOB_ID", "5"},
       {"SLURM_STEP_ID", "0"},
       {"SLURM_PROCID", "1"},
       {"SLURM_NTASKS", "2"},
       {"JAX_COORDINATOR_ADDRESS", "node0:1234"}},
      kTrain);
  check(ranks().at(10), {1, {}, {}, 2}, "5", "slurm", "SLURM_PROCID");
}

TEST_CASE_FIXTURE(Tree, "Launcher tree: the order of the global rank's sources") {
  // Each source names another number; the first in the order wins.
  const std::vector<std::pair<Variables, std::string>> order = {
      {{{"RANK", "1"}, {"LOCAL_RANK", "0"}}, "RANK"},
      {{{"OMPI_COMM_WORLD_RANK", "2"}}, "OMPI_COMM_WORLD_RANK"},
      {{{"PMIX_RANK", "3"}}, "PMIX_RANK"},
      {{{"PMI_RANK", "4"}}, "PMI_RANK"},
      {{{"JAX_PROCESS_ID", "5"}}, "JAX_PROCESS_ID"},
      {{{"RANK", "6"}}, "RANK"},
      {{{"SLURM_PROCID", "7"}, {"SLURM_JOB_ID", "1"}, {"SLURM_STEP_ID", "0"}}, "SLURM_PROCID"}};
  for (std::size_t first = 0; first < order.size(); ++first) {
    Tree tree;
    Variables all;
    for (std::size_t i = order.size(); i-- > first;) all = all + order[i].first;
    tree.put(10, 1, all, kTrain);
    // RANK alone is below JAX in the order; with it LOCAL_RANK makes it the first.
    CAPTURE(order[first].second);
    const auto found = tree.ranks();
    REQUIRE(found.size() == 1);
    CHECK(found.at(10).rank == static_cast<std::int32_t>(first) + 1);
    CHECK(found.at(10).rank_source == order[first].second);
  }
}

}  // namespace
}  // namespace logarithm::agent
