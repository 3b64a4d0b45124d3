#include "agent/discover/launchers.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "agent/discover/text.h"
#include "common/model/job_name.h"
#include "common/model/run_environment.h"

namespace logarithm::agent {
namespace {

using Names = std::vector<std::string_view>;

// One way to be told a rank. The rows are tried in order; the first applies whose `needs` are all
// there and whose rank is a number below its world size.
struct LauncherRow {
  std::string_view launcher;
  Names needs;
  Names rank, local_rank, group_rank, world;
};

const std::vector<LauncherRow>& launcher_table() {
  static const std::vector<LauncherRow> kRows = {
      {"accelerate",
       {"ACCELERATE_MIXED_PRECISION", "LOCAL_RANK"},
       {"RANK"},
       {"LOCAL_RANK"},
       {"GROUP_RANK"},
       {"WORLD_SIZE"}},
      {"torchrun",
       {"TORCHELASTIC_RUN_ID", "LOCAL_RANK"},
       {"RANK"},
       {"LOCAL_RANK"},
       {"GROUP_RANK"},
       {"WORLD_SIZE"}},
      {"deepspeed",
       {"LOCAL_RANK", "CROSS_RANK"},
       {"RANK"},
       {"LOCAL_RANK"},
       {"CROSS_RANK"},
       {"WORLD_SIZE"}},
      {"env",
       {"LOCAL_RANK"},
       {"RANK"},
       {"LOCAL_RANK"},
       {"GROUP_RANK", "NODE_RANK"},
       {"WORLD_SIZE"}},
      // OMPI_COMM_WORLD_NODE_RANK is not the node's number.
      {"openmpi",
       {},
       {"OMPI_COMM_WORLD_RANK"},
       {"OMPI_COMM_WORLD_LOCAL_RANK"},
       {},
       {"OMPI_COMM_WORLD_SIZE"}},
      {"pmix",
       {},
       {"PMIX_RANK"},
       {"MPI_LOCALRANKID", "SLURM_LOCALID"},
       {"SLURM_NODEID"},
       {"SLURM_STEP_NUM_TASKS"}},
      {"mpich",
       {},
       {"PMI_RANK"},
       {"MPI_LOCALRANKID", "SLURM_LOCALID"},
       {"SLURM_NODEID"},
       {"PMI_SIZE"}},
      {"mvapich",
       {},
       {"MV2_COMM_WORLD_RANK"},
       {"MV2_COMM_WORLD_LOCAL_RANK"},
       {},
       {"MV2_COMM_WORLD_SIZE"}},
      {"horovod",
       {},
       {"HOROVOD_RANK"},
       {"HOROVOD_LOCAL_RANK"},
       {"HOROVOD_CROSS_RANK"},
       {"HOROVOD_SIZE"}},
      {"jax",
       {},
       {"JAX_PROCESS_ID", "JAX_PROCESS_INDEX"},
       {},
       {},
       {"JAX_NUM_PROCESSES", "JAX_PROCESS_COUNT"}},
      {"env", {}, {"RANK"}, {}, {"GROUP_RANK", "NODE_RANK"}, {"WORLD_SIZE"}},
      {"slurm",
       {"SLURM_JOB_ID"},
       {"SLURM_PROCID"},
       {"SLURM_LOCALID"},
       {"SLURM_NODEID"},
       {"SLURM_NTASKS", "SLURM_NPROCS"}},
  };
  return kRows;
}

constexpr std::string_view kStatedJob = "LOGARITHM_JOB";
constexpr std::string_view kStatedRank = "LOGARITHM_RANK";
constexpr std::string_view kStatedAttempt = "LOGARITHM_ATTEMPT";

// One way to be told the job: `variable`, joined by `glue` with `second` where that is named (both
// must then be there).
struct JobRow {
  std::string_view variable;
  std::string_view glue = {};
  std::string_view second = {};
  std::string_view unless = {};
};
constexpr JobRow kJobRows[] = {
    {kStatedJob},
    {.variable = "TORCHELASTIC_RUN_ID", .unless = "none"},
    {"SLURM_ARRAY_JOB_ID", "_", "SLURM_ARRAY_TASK_ID"},
    {"SLURM_JOB_ID"},
    {"PMIX_NAMESPACE"},
    {"OMPI_MCA_ess_base_jobid"},
    {"PMI_JOBID"},
    {"RAY_JOB_ID"},
    {"HOSTNAME"},  // a pod's, see job_of()
    {"MASTER_ADDR", ":", "MASTER_PORT"},
    {"JAX_COORDINATOR_ADDRESS"},
    {"HOROVOD_GLOO_RENDEZVOUS_ADDR", ":", "HOROVOD_GLOO_RENDEZVOUS_PORT"},
};

constexpr std::string_view kRestartCounters[] = {"TORCHELASTIC_RESTART_COUNT",
                                                 "SLURM_RESTART_COUNT"};
// Kept beside what the tables name: facts a reader of the process list wants.
constexpr std::string_view kMoreIdentity[] = {
    "LOCAL_WORLD_SIZE", "TORCHELASTIC_MAX_RESTARTS", "ROLE_NAME",           "SLURM_STEP_ID",
    "SLURM_JOB_NAME",   "SLURMD_NODENAME",           "JOB_COMPLETION_INDEX"};
constexpr std::string_view kNoIdentity[] = {"TZ",
                                            "HOSTNAME",
                                            "KUBERNETES_SERVICE_HOST",
                                            kVisibleGpus,
                                            run_environment::kFiles,
                                            run_environment::kHolder};
constexpr std::size_t kMaxValue = 1024;

bool is_wanted(std::string_view name) {
  static const std::vector<std::string_view> kWanted = [] {
    std::vector<std::string_view> names = {kStatedRank, kStatedAttempt};
    for (const LauncherRow& row : launcher_table()) {
      for (const Names* list :
           {&row.needs, &row.rank, &row.local_rank, &row.group_rank, &row.world}) {
        names.insert(names.end(), list->begin(), list->end());
      }
    }
    for (const JobRow& row : kJobRows) {
      names.push_back(row.variable);
      if (!row.second.empty()) names.push_back(row.second);
    }
    names.insert(names.end(), std::begin(kRestartCounters), std::end(kRestartCounters));
    names.insert(names.end(), std::begin(kMoreIdentity), std::end(kMoreIdentity));
    names.insert(names.end(), std::begin(kNoIdentity), std::end(kNoIdentity));
    std::sort(names.begin(), names.end());
    return names;
  }();
  return std::binary_search(kWanted.begin(), kWanted.end(), name);
}

const std::string* find(const Environment& environment, std::string_view name) {
  const auto at = environment.find(name);
  return at == environment.end() || at->second.empty() ? nullptr : &at->second;
}

struct Number {
  std::int32_t value;
  std::string_view name;
};
template <typename List>
std::optional<Number> first_number(const Environment& environment, const List& names) {
  for (const std::string_view name : names) {
    const std::string* text = find(environment, name);
    if (text == nullptr) continue;
    if (const auto value = parse_count(*text)) return Number{*value, name};
  }
  return std::nullopt;
}
template <typename List>
std::optional<std::int32_t> first_value(const Environment& environment, const List& names) {
  const auto number = first_number(environment, names);
  if (!number) return std::nullopt;
  return number->value;
}

void set_job(const Environment& environment, Identity& out) {
  for (const JobRow& row : kJobRows) {
    const std::string* value = find(environment, row.variable);
    if (value == nullptr || (!row.unless.empty() && *value == row.unless)) continue;
    std::string job = *value;
    if (row.variable == "HOSTNAME") {
      if (find(environment, "KUBERNETES_SERVICE_HOST") == nullptr) continue;
      job = pod_owner(job);
    } else if (!row.second.empty()) {
      const std::string* second = find(environment, row.second);
      if (second == nullptr) continue;
      job += row.glue;
      job += *second;
    }
    out.job = usable_job_name(job);
    out.job_source = row.variable;
    return;
  }
}

void set_rank(const Environment& environment, Identity& out) {
  for (const LauncherRow& row : launcher_table()) {
    const bool applies =
        std::all_of(row.needs.begin(), row.needs.end(),
                    [&](std::string_view name) { return find(environment, name) != nullptr; });
    if (!applies) continue;
    const auto rank = first_number(environment, row.rank);
    if (!rank) continue;
    const auto world = first_value(environment, row.world);
    if (world && rank->value >= *world) continue;
    out.rank = rank->value;
    out.rank_source = rank->name;
    out.launcher = row.launcher;
    out.local_rank = first_value(environment, row.local_rank);
    out.group_rank = first_value(environment, row.group_rank);
    out.world_size = world;
    out.certain = !row.needs.empty() && row.rank.front() == "RANK";
    break;
  }
  const std::array stated = {kStatedRank};
  if (const auto rank = first_number(environment, stated)) {
    out.rank = rank->value;
    out.rank_source = rank->name;
    out.certain = true;
    if (out.launcher.empty()) out.launcher = "logarithm";
  }
}

template <typename T>
bool compatible(const std::optional<T>& a, const std::optional<T>& b) {
  return !a || !b || *a == *b;
}

// Takes "-<digits>" or a random suffix of `length` letters and digits off.
bool drop_number(std::string_view& name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0 || dash + 1 == name.size()) return false;
  const std::string_view tail = name.substr(dash + 1);
  if (!std::all_of(tail.begin(), tail.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return false;
  }
  name = name.substr(0, dash);
  return true;
}
bool drop_random(std::string_view& name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0 || name.size() - dash - 1 != 5) return false;
  const std::string_view tail = name.substr(dash + 1);
  // Kubernetes draws from this alphabet (no vowels), so that "-train" stays a part of the name.
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  if (tail.find_first_not_of(kAlphabet) != std::string_view::npos) return false;
  name = name.substr(0, dash);
  return true;
}

}  // namespace

Environment parse_environment(std::string_view bytes) {
  Environment out;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    const std::string_view entry = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || !is_wanted(entry.substr(0, equals))) continue;
    out.emplace(entry.substr(0, equals), clean_text(entry.substr(equals + 1, kMaxValue)));
  }
  return out;
}

std::optional<Identity> identify(const Environment& environment) {
  Identity out;
  set_rank(environment, out);
  set_job(environment, out);
  if (!out.rank) {
    if (out.job_source != kStatedJob) return std::nullopt;
    out.launcher = "logarithm";
  }
  out.restart_count = first_value(environment, kRestartCounters);
  const std::array attempt = {kStatedAttempt};
  out.stated_attempt = first_value(environment, attempt);
  for (const auto& [name, value] : environment) {
    if (std::find(std::begin(kNoIdentity), std::end(kNoIdentity), name) == std::end(kNoIdentity)) {
      out.variables.emplace(name, value);
    }
  }
  return out;
}

Identity identify_mentioned(const Environment& environment, const RankMention& mention) {
  Identity out = identify(environment).value_or(Identity());
  if (out.rank) return out;
  if (out.job.empty()) set_job(environment, out);
  if (out.job.empty()) {
    out.job = mention.job;
    out.job_source = mention.job.empty() ? "" : "mapping";
  }
  out.rank = mention.rank;
  out.local_rank = mention.local_rank;
  out.world_size = mention.world_size;
  out.launcher = find(environment, "RAY_JOB_ID") != nullptr ? "ray" : "mapping";
  out.rank_source = "mapping";
  out.certain = true;
  for (const auto& [name, value] : environment) {
    if (std::find(std::begin(kNoIdentity), std::end(kNoIdentity), name) == std::end(kNoIdentity)) {
      out.variables.emplace(name, value);
    }
  }
  return out;
}

bool same_rank(const Identity& above, const Identity& below) {
  if (above.variables == below.variables) return true;
  // A process that copies its MPI rank to RANK for its own children is still one rank. The worker 0
  // of a torchrun that Slurm started as task 0 is not: there the world sizes differ.
  if (above.rank != below.rank || above.stated_attempt != below.stated_attempt) return false;
  if (!above.rank) return above.job == below.job;
  return above.world_size && above.world_size == below.world_size &&
         compatible(above.local_rank, below.local_rank) &&
         compatible(above.restart_count, below.restart_count);
}

bool is_run_prelude(std::string_view cmdline, const Environment& environment) {
  if (find(environment, run_environment::kFiles) != nullptr) return false;
  for (bool first = true; !cmdline.empty(); first = false) {
    const std::string_view word = cmdline.substr(0, cmdline.find('\0'));
    cmdline.remove_prefix(std::min(word.size() + 1, cmdline.size()));
    if (first && word.substr(word.rfind('/') + 1) != "logarithm") return false;
    if (word == "run") return true;
    if (word == "--") return false;
  }
  return false;
}

bool is_launcher_program(std::string_view cmdline) {
  static const std::vector<std::string_view> kPrograms = {
      "torchrun", "deepspeed",     "accelerate",      "horovodrun", "mpirun",
      "mpiexec",  "mpiexec.hydra", "orterun",         "prterun",    "prte",
      "prted",    "orted",         "hydra_pmi_proxy", "srun",       "slurmstepd"};
  static const std::vector<std::string_view> kModules = {
      "torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch",
      "deepspeed.launcher.launch", "deepspeed.launcher.runner"};
  // Of `python -u -m torch.distributed.run …` the first arguments tell; a training script's own
  // arguments must not.
  std::string_view previous;
  for (int argument = 0; argument < 5 && !cmdline.empty(); ++argument) {
    const std::size_t end = std::min(cmdline.find('\0'), cmdline.size());
    const std::string_view word = cmdline.substr(0, end);
    cmdline.remove_prefix(std::min(end + 1, cmdline.size()));
    const std::string_view name = word.substr(word.rfind('/') + 1);
    const bool option = word.starts_with('-');
    if (previous == "-m") {
      return std::find(kModules.begin(), kModules.end(), word) != kModules.end();
    }
    if (!option && std::find(kPrograms.begin(), kPrograms.end(), name) != kPrograms.end()) {
      return true;
    }
    if (argument > 0 && !option) return false;  // the script
    previous = word;
  }
  return false;
}

bool is_shell(std::string_view program_name) {
  constexpr std::string_view kShells[] = {"sh",    "bash", "dash",         "zsh",    "fish",
                                          "ksh",   "tmux", "tmux: server", "screen", "sshd",
                                          "login", "su",   "sudo",         "make"};
  return std::find(std::begin(kShells), std::end(kShells), program_name) != std::end(kShells);
}

std::string pod_owner(std::string_view pod) {
  std::string_view name = pod;
  const bool random = drop_random(name);
  if (drop_number(name)) {
    if (random) drop_number(name);  // JobSet: <set>-<replicated job>-<job index>-<pod index>
    for (const std::string_view role :
         {"-worker", "-master", "-launcher", "-chief", "-ps", "-node"}) {
      if (name.size() > role.size() && name.ends_with(role)) {
        name.remove_suffix(role.size());
        break;
      }
    }
  }
  return std::string(name);
}

}  // namespace logarithm::agent
