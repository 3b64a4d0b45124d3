#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace logarithm::agent {

// The variables of a process's environment that say something about its job or rank (and TZ).
using Environment = std::map<std::string, std::string, std::less<>>;

// The devices that a process may use, in its own numbering. Of several processes each may have all.
inline constexpr std::string_view kVisibleGpus = "CUDA_VISIBLE_DEVICES";

// Takes those variables out of the bytes of /proc/PID/environ. Values are cut at 1 KiB and made
// valid UTF-8. Of a variable that is there twice the first counts, as for getenv.
Environment parse_environment(std::string_view bytes);

// Who a process says it is. Pure function of the environment.
struct Identity {
  std::string job;         // empty: only host, pid and start time can name it
  std::string job_source;  // the variable
  std::optional<std::int32_t> rank, local_rank, group_rank, world_size;
  std::optional<std::int32_t> restart_count, stated_attempt;
  std::string launcher;     // "torchrun", "slurm", …; "env" for plain variables
  std::string rank_source;  // the variable; empty when the rank is unknown
  // RANK stands beside LOCAL_RANK, or the user stated it. Any other number may count nodes or pods:
  // it is none of a process that has ranks among its descendants.
  bool certain = false;
  std::map<std::string, std::string> variables;  // the identity variables and their values

  bool operator==(const Identity&) const = default;
};

// nullopt: nothing in it names a rank, nor (LOGARITHM_JOB) a job.
//
// Job: the first of LOGARITHM_JOB, TORCHELASTIC_RUN_ID unless "none", Slurm's array or job id
// (never the step), PMIX_NAMESPACE and its kin, RAY_JOB_ID, the pod's owner, a rendezvous address
// with port. Rank: the first row of the launcher table that applies and fits its world size.
std::optional<Identity> identify(const Environment& environment);

// What a line said about another process: "pid=7) world_rank=3".
struct RankMention {
  std::int32_t rank = 0;
  std::optional<std::int32_t> local_rank, world_size;
  std::string job;  // of the stream that said it: counts when the environment names none
  bool operator==(const RankMention&) const = default;
};
// Who a process is whose environment names no rank, but a mapping line does.
Identity identify_mentioned(const Environment& environment, const RankMention& mention);

// True when both are one rank: `below` is a descendant of `above`.
bool same_rank(const Identity& above, const Identity& below);

// True for programs that start ranks and are none (torchrun, srun, mpirun …), from
// /proc/PID/cmdline.
bool is_launcher_program(std::string_view cmdline);
// True for a `logarithm run` that has not yet exec'ed itself with its job in the environment: what
// it is called then is a guess.
bool is_run_prelude(std::string_view cmdline, const Environment& environment);
// True for a shell: with LOGARITHM_JOB exported it lives through many runs of the job.
bool is_shell(std::string_view program_name);

// "llm7" for the pod "llm7-worker-3"; the name itself where it has no known shape.
std::string pod_owner(std::string_view pod);

}  // namespace logarithm::agent
