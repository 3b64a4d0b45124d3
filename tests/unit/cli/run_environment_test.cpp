#include "cli/run_environment.h"

#include <doctest/doctest.h>

namespace logarithm::cli {
namespace {

TEST_CASE("RunEnvironment: variables are found by their whole name") {
  EnvironmentList environment = {"AB=1", "A=2", "B="};
  CHECK(get_variable(environment, "A") == "2");
  CHECK(get_variable(environment, "B") == "");
  CHECK_FALSE(get_variable(environment, "C"));
  set_variable(environment, "A", "3");
  set_if_missing(environment, "AB", "4");
  unset_variable(environment, "B");
  CHECK(environment == EnvironmentList{"AB=1", "A=3"});
}

TEST_CASE("RunEnvironment: the job is what the agent would find") {
  CHECK(job_in({}).empty());
  CHECK(job_in({"SLURM_JOB_ID=7", "LOGARITHM_JOB=j"}) == "j");
  CHECK(job_in({"TORCHELASTIC_RUN_ID=none", "SLURM_JOB_ID=7"}) == "7");
  CHECK(job_in({"SLURM_JOB_ID=9", "SLURM_ARRAY_JOB_ID=8", "SLURM_ARRAY_TASK_ID=1"}) == "8_1");
}

TEST_CASE("RunEnvironment: no attempt is counted where ranks say who they are") {
  CHECK_FALSE(has_ranks({}, {"python", "train.py"}));
  CHECK(has_ranks({"RANK=3"}, {"python"}));
  CHECK(has_ranks({"SLURM_PROCID=0"}, {"python"}));
  CHECK(has_ranks({}, {"/opt/bin/torchrun", "train.py"}));
  CHECK(has_ranks({}, {"python", "-m", "torch.distributed.run", "train.py"}));
}

TEST_CASE("case 54: RunEnvironment: on a terminal Python prints at once, unless the user said so") {
  EnvironmentList environment;
  act_like_a_terminal(environment, 80, 24);
  CHECK(get_variable(environment, "PYTHONUNBUFFERED") == "1");
  EnvironmentList stated = {"PYTHONUNBUFFERED="};
  act_like_a_terminal(stated, 80, 24);
  CHECK(get_variable(stated, "PYTHONUNBUFFERED") == "");
}

TEST_CASE(
    "RunEnvironment: on a terminal programs are asked for colours, unless the user was asked") {
  EnvironmentList environment = {"CLICOLOR_FORCE=0"};
  act_like_a_terminal(environment, 80, 0);
  CHECK(get_variable(environment, "CLICOLOR_FORCE") == "0");
  CHECK(get_variable(environment, "FORCE_COLOR") == "1");
  CHECK(get_variable(environment, "PYTHONUNBUFFERED") == "1");
  CHECK(get_variable(environment, "COLUMNS") == "80");
  CHECK_FALSE(get_variable(environment, "LINES"));
  for (const char* no : {"NO_COLOR=1", "TERM=dumb"}) {
    EnvironmentList plain = {no};
    act_like_a_terminal(plain, 0, 0);
    CHECK_FALSE(get_variable(plain, "FORCE_COLOR"));
  }
}

}  // namespace
}  // namespace logarithm::cli
