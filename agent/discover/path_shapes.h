#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/regex/regex.h"

namespace logarithm::agent {

// What a file's path says about who writes it. Weak evidence: a process or a wrapper knows better.
struct PathAttributes {
  std::string job, host;
  std::optional<std::int32_t> attempt, rank, local_rank;
  std::string stream;  // "stdout", "stderr", "kernel" or as the user's group says; may be empty
  std::map<std::string, std::string> labels;  // the other groups of the shape: run_id, pod, …
  // The path with '#' for the digits of the rank (else the local rank): what siblings share.
  std::string family;
  // The number is a rank only if the family (of both outputs) has one with 0: `x-%t.out` looks
  // like `x-%j.out`.
  bool needs_family = false;
  bool slurm_step = false;  // the name that sbatch and srun give by default

  bool operator==(const PathAttributes&) const = default;
};

// What the shipped shapes say (torchrun, Slurm, Open MPI, Ray, Kubernetes, home-grown names).
PathAttributes path_shape(std::string_view path);

// The user's `path` expression of a `files:` entry or --path: named groups job, attempt, host,
// rank, local_rank and stream ("out" and "err" mean stdout and stderr).
class UserPathRegex {
 public:
  // Error{invalid} for what RE2 refuses or a group that is none of these.
  static Result<UserPathRegex> compile(const std::string& pattern);
  // nullopt when the path does not match.
  std::optional<PathAttributes> match(std::string_view path) const;

 private:
  explicit UserPathRegex(Regex regex) : regex_(std::move(regex)) {}
  Regex regex_;
};

}  // namespace logarithm::agent
