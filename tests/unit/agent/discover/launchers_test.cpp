#include "agent/discover/launchers.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

namespace logarithm::agent {
namespace {

struct Row {
  std::string environment;  // NAME=value, blanks between
  std::optional<std::int32_t> rank, local_rank, group_rank, world;
  std::string launcher, source, job;
};

Environment environment_of(std::string text) {
  for (char& c : text) {
    if (c == ' ') c = '\0';
  }
  return parse_environment(text);
}

TEST_CASE("Launchers: each row of the table gives rank, place and job") {
  const Row rows[] = {
      {"TORCHELASTIC_RUN_ID=llm RANK=5 LOCAL_RANK=1 GROUP_RANK=2 WORLD_SIZE=8", 5, 1, 2, 8,
       "torchrun", "RANK", "llm"},
      {"TORCHELASTIC_RUN_ID=none RANK=0 LOCAL_RANK=0 GROUP_RANK=0 WORLD_SIZE=2 SLURM_JOB_ID=77", 0,
       0, 0, 2, "torchrun", "RANK", "77"},
      {"RANK=3 LOCAL_RANK=1 CROSS_RANK=1 WORLD_SIZE=4 MASTER_ADDR=h1 MASTER_PORT=29500", 3, 1, 1, 4,
       "deepspeed", "RANK", "h1:29500"},
      {"RANK=3 LOCAL_RANK=1 WORLD_SIZE=4 MASTER_ADDR=h1", 3, 1, {}, 4, "env", "RANK", ""},
      {"SLURM_JOB_ID=12 SLURM_STEP_ID=0 SLURM_PROCID=6 SLURM_LOCALID=2 SLURM_NODEID=1 "
       "SLURM_NTASKS=8",
       6, 2, 1, 8, "slurm", "SLURM_PROCID", "12"},
      {"SLURM_JOB_ID=13 SLURM_ARRAY_JOB_ID=12 SLURM_ARRAY_TASK_ID=4 SLURM_PROCID=0",
       0,
       {},
       {},
       {},
       "slurm",
       "SLURM_PROCID",
       "12_4"},
      {"OMPI_COMM_WORLD_RANK=9 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_NODE_RANK=3 "
       "OMPI_COMM_WORLD_SIZE=16 PMIX_NAMESPACE=prte-1@1 PMIX_RANK=9",
       9,
       1,
       {},
       16,
       "openmpi",
       "OMPI_COMM_WORLD_RANK",
       "prte-1@1"},
      {"PMI_RANK=2 PMI_SIZE=4 MPI_LOCALRANKID=0 PMI_JOBID=kvs7",
       2,
       0,
       {},
       4,
       "mpich",
       "PMI_RANK",
       "kvs7"},
      {"MV2_COMM_WORLD_RANK=2 MV2_COMM_WORLD_LOCAL_RANK=1 MV2_COMM_WORLD_SIZE=4",
       2,
       1,
       {},
       4,
       "mvapich",
       "MV2_COMM_WORLD_RANK",
       ""},
      {"HOROVOD_RANK=1 HOROVOD_LOCAL_RANK=1 HOROVOD_CROSS_RANK=0 HOROVOD_SIZE=2", 1, 1, 0, 2,
       "horovod", "HOROVOD_RANK", ""},
      {"JAX_PROCESS_ID=1 JAX_NUM_PROCESSES=2 JAX_COORDINATOR_ADDRESS=h:1",
       1,
       {},
       {},
       2,
       "jax",
       "JAX_PROCESS_ID",
       "h:1"},
      {"JAX_PROCESS_INDEX=1 JAX_PROCESS_COUNT=2", 1, {}, {}, 2, "jax", "JAX_PROCESS_INDEX", ""},
      {"RANK=7 WORLD_SIZE=8 MASTER_ADDR=10.0.0.1 MASTER_PORT=1",
       7,
       {},
       {},
       8,
       "env",
       "RANK",
       "10.0.0.1:1"},
      {"LOGARITHM_JOB=mine LOGARITHM_RANK=4 RANK=1 LOCAL_RANK=1 WORLD_SIZE=2 SLURM_JOB_ID=3",
       4,
       1,
       {},
       2,
       "env",
       "LOGARITHM_RANK",
       "mine"},
      {"LOGARITHM_JOB=mine LOGARITHM_RANK=4", 4, {}, {}, {}, "logarithm", "LOGARITHM_RANK", "mine"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.environment);

    const auto identity = identify(environment_of(row.environment));

    REQUIRE(identity.has_value());
    CHECK(identity->rank == row.rank);
    CHECK(identity->local_rank == row.local_rank);
    CHECK(identity->group_rank == row.group_rank);
    CHECK(identity->world_size == row.world);
    CHECK(identity->launcher == row.launcher);
    CHECK(identity->rank_source == row.source);
    CHECK(identity->job == row.job);
  }
}

TEST_CASE("Launchers: RANK with LOCAL_RANK wins over Slurm, whose number then counts nodes") {
  const auto identity = identify(environment_of(
      "SLURM_JOB_ID=5 SLURM_PROCID=1 SLURM_NTASKS=2 RANK=9 LOCAL_RANK=1 WORLD_SIZE=16"));

  REQUIRE(identity.has_value());
  CHECK(identity->rank == 9);
  CHECK(identity->certain);
}

TEST_CASE("Launchers: a rank that its world cannot hold is refused, and the next row is asked") {
  const auto identity = identify(environment_of(
      "RANK=9 LOCAL_RANK=1 WORLD_SIZE=4 SLURM_JOB_ID=5 SLURM_PROCID=1 SLURM_NTASKS=2"));

  REQUIRE(identity.has_value());
  CHECK(identity->rank == 1);
  CHECK(identity->rank_source == "SLURM_PROCID");
}

TEST_CASE("Launchers: what is not a plain number is no rank") {
  for (const char* value : {"", "-1", "x", "1x", "99999999999", "0x1"}) {
    CAPTURE(value);
    CHECK_FALSE(identify(environment_of(std::string("RANK=") + value)).has_value());
  }
  CHECK_FALSE(identify(environment_of("WORLD_SIZE=4 LOCAL_RANK=1 SLURM_PROCID=3")).has_value());
}

TEST_CASE("Launchers: LOGARITHM_JOB alone names a job without a rank") {
  const auto identity = identify(environment_of("LOGARITHM_JOB=serve LOGARITHM_ATTEMPT=3"));

  REQUIRE(identity.has_value());
  CHECK(identity->job == "serve");
  CHECK_FALSE(identity->rank.has_value());
  CHECK(identity->stated_attempt == 3);
}

TEST_CASE("Launchers: the restart counter is torchrun's, else Slurm's") {
  CHECK(identify(environment_of("RANK=0 TORCHELASTIC_RESTART_COUNT=2 SLURM_RESTART_COUNT=1"))
            ->restart_count == 2);
  CHECK(identify(environment_of("RANK=0 SLURM_RESTART_COUNT=1"))->restart_count == 1);
}

TEST_CASE("Launchers: bytes that are no UTF-8 do not get into an identity") {
  const auto identity = identify(environment_of("LOGARITHM_JOB=a\xff\x01z RANK=1"));

  REQUIRE(identity.has_value());
  CHECK(identity->job == "a\xef\xbf\xbd\xef\xbf\xbdz");
}

TEST_CASE("Launchers: a pod's job is its owner, and a random suffix is no part of it") {
  CHECK(pod_owner("llm7-worker-3") == "llm7");
  CHECK(pod_owner("llm7-master-0") == "llm7");
  CHECK(pod_owner("train-0-x7k2p") == "train");
  CHECK(pod_owner("set-worker-0-1-bcdfg") == "set");
  CHECK(pod_owner("plain-train") == "plain-train");
  CHECK(identify(environment_of("RANK=0 HOSTNAME=llm7-worker-3 KUBERNETES_SERVICE_HOST=1"))->job ==
        "llm7");
  CHECK(identify(environment_of("RANK=0 HOSTNAME=llm7-worker-3"))->job.empty());
}

TEST_CASE("Launchers: a copy of the rank for children is the same rank, another world is not") {
  const auto mpi =
      *identify(environment_of("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 "
                               "OMPI_COMM_WORLD_LOCAL_RANK=1 PMIX_NAMESPACE=n"));
  const auto child = *identify(environment_of(
      "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 PMIX_NAMESPACE=n "
      "RANK=1 LOCAL_RANK=1 WORLD_SIZE=4"));
  const auto node = *identify(environment_of("SLURM_JOB_ID=1 SLURM_PROCID=0 SLURM_NTASKS=2"));
  const auto worker = *identify(environment_of(
      "SLURM_JOB_ID=1 SLURM_PROCID=0 SLURM_NTASKS=2 RANK=0 LOCAL_RANK=0 WORLD_SIZE=16"));

  CHECK(same_rank(mpi, child));
  CHECK_FALSE(same_rank(node, worker));
}

TEST_CASE("Launchers: programs that start ranks are told from scripts that name them") {
  const auto line = [](std::string text) {
    for (char& c : text) {
      if (c == ' ') c = '\0';
    }
    return text;
  };
  CHECK(is_launcher_program(line("/usr/bin/python3 /usr/local/bin/torchrun --nproc 4 train.py")));
  CHECK(is_launcher_program(line("python3 -u -m torch.distributed.run train.py")));
  CHECK(is_launcher_program(line("srun -n 4 python train.py")));
  CHECK_FALSE(is_launcher_program(line("python3 train.py --launcher srun")));
  CHECK_FALSE(is_launcher_program(line("python3 train.py srun")));
  CHECK_FALSE(is_launcher_program(""));
}

TEST_CASE("Launchers: `logarithm run` is known until it has its place") {
  const auto line = [](std::string text) {
    for (char& c : text) {
      if (c == ' ') c = '\0';
    }
    return text;
  };
  CHECK(is_run_prelude(line("logarithm run --job a -- python3 t.py "), {}));
  CHECK(is_run_prelude(line("/opt/bin/logarithm --token x run"), {}));
  CHECK_FALSE(is_run_prelude(line("logarithm run "), {{"LOGARITHM_RUN_FILES", "/x"}}));
  CHECK_FALSE(is_run_prelude(line("logarithm tail job "), {}));
  CHECK_FALSE(is_run_prelude(line("python3 logarithm run "), {}));
  CHECK_FALSE(is_run_prelude("", {}));
  CHECK_FALSE(is_run_prelude("logarithm", {}));
}

}  // namespace
}  // namespace logarithm::agent
