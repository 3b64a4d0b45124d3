#include "cli/run_environment.h"

#include <algorithm>

namespace logarithm::cli {
namespace {

bool is_variable(const std::string& entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

}  // namespace

std::optional<std::string> get_variable(const EnvironmentList& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (is_variable(entry, name)) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

void unset_variable(EnvironmentList& environment, std::string_view name) {
  std::erase_if(environment, [&](const std::string& entry) { return is_variable(entry, name); });
}

void set_variable(EnvironmentList& environment, std::string_view name, const std::string& value) {
  unset_variable(environment, name);
  environment.push_back(std::string(name) + "=" + value);
}

void set_if_missing(EnvironmentList& environment, std::string_view name, const std::string& value) {
  if (!get_variable(environment, name)) set_variable(environment, name, value);
}

std::string job_in(const EnvironmentList& environment) {
  const auto value = [&](std::string_view name) {
    return get_variable(environment, name).value_or("");
  };
  if (auto job = value("LOGARITHM_JOB"); !job.empty()) return job;
  if (auto job = value("TORCHELASTIC_RUN_ID"); !job.empty() && job != "none") return job;
  if (auto array = value("SLURM_ARRAY_JOB_ID"); !array.empty()) {
    if (auto task = value("SLURM_ARRAY_TASK_ID"); !task.empty()) return array + "_" + task;
  }
  for (const char* name : {"SLURM_JOB_ID", "PMIX_NAMESPACE", "RAY_JOB_ID"}) {
    if (auto job = value(name); !job.empty()) return job;
  }
  return {};
}

bool has_ranks(const EnvironmentList& environment, const std::vector<std::string>& command) {
  constexpr std::string_view kVariables[] = {
      "RANK",      "LOCAL_RANK", "LOGARITHM_RANK",         "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
      "PMIX_RANK", "PMI_RANK",   "MV2_COMM_WORLD_RANK",    "HOROVOD_RANK", "JAX_PROCESS_ID",
      "NODE_RANK", "GROUP_RANK", "KUBERNETES_SERVICE_HOST"};
  constexpr std::string_view kLaunchers[] = {"torchrun", "deepspeed", "accelerate", "horovodrun",
                                             "mpirun",   "mpiexec",   "srun",       "prterun"};
  constexpr std::string_view kModules[] = {"torch.distributed.run", "torch.distributed.launch",
                                           "accelerate.commands.launch"};
  const auto named = [&](std::string_view name) {
    return get_variable(environment, name).has_value();
  };
  if (std::any_of(std::begin(kVariables), std::end(kVariables), named)) return true;
  return std::any_of(command.begin(), command.end(), [&](const std::string& word) {
    const std::string name = word.substr(word.rfind('/') + 1);
    return std::find(std::begin(kLaunchers), std::end(kLaunchers), name) != std::end(kLaunchers) ||
           std::find(std::begin(kModules), std::end(kModules), word) != std::end(kModules);
  });
}

void act_like_a_terminal(EnvironmentList& environment, int columns, int lines) {
  set_if_missing(environment, "PYTHONUNBUFFERED", "1");
  if (columns > 0) set_if_missing(environment, "COLUMNS", std::to_string(columns));
  if (lines > 0) set_if_missing(environment, "LINES", std::to_string(lines));
  const auto term = get_variable(environment, "TERM");
  if (get_variable(environment, "NO_COLOR") || term == "dumb") return;
  for (const char* name : {"FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS"}) {
    set_if_missing(environment, name, "1");
  }
}

}  // namespace logarithm::cli
