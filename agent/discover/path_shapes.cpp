#include "agent/discover/path_shapes.h"

#include <algorithm>
#include <vector>

#include "agent/discover/launchers.h"
#include "agent/discover/text.h"
#include "common/model/job_name.h"

namespace logarithm::agent {
namespace {

// What rotation appends to a name.
#define LGR_ROTATED \
  R"re((?:\.[0-9]{1,3}|[.-][0-9]{4}-?[0-9]{2}-?[0-9]{2}[0-9TZ:._-]*|\.old|\.bak|~)*$)re"

struct Shape {
  const char* pattern;
  bool needs_family = false;
  const char* stream = "";  // a constant
  bool slurm_step = false;
};

// A shape that says all there is to say, but perhaps the attempt: the first that matches counts.
constexpr Shape kWholeShapes[] = {
    // {log_dir}/{run_id}_{random}/attempt_{N}/{local_rank}/stdout.log
    {R"re((?:/(?P<run_id>[^/]+)_[a-z0-9_]{8})?/attempt_(?P<attempt>\d+)/(?P<local_rank>\d+)/(?P<stream>stdout|stderr|error)\.(?:log|json))re" LGR_ROTATED},
    {R"re((?:/session_(?P<session>[^/]+))?/logs/(?:old/)?worker-(?P<worker>[0-9a-f]+)-(?P<job>[0-9a-f]+)-(?P<pid>\d+)\.(?P<stream>out|err))re" LGR_ROTATED},
    {R"re(/logs/(?:old/)?job-driver-(?P<job>[A-Za-z0-9_-]+)\.log)re" LGR_ROTATED},
    // The restart count of the container is the attempt.
    {R"re(/pods/(?P<namespace>[a-z0-9-]+)_(?P<pod>[a-z0-9.-]+)_(?P<uid>[0-9a-f-]+)/(?P<container>[a-z0-9.-]+)/(?P<restart>\d+)\.log(?:\.[0-9-]+)?$)re"},
    {.pattern =
         R"re(/slurm-(?P<job>\d+(?:_\d+)?)(?:\.(?:batch|\d+))?\.(?P<stream>out|err))re" LGR_ROTATED,
     .slurm_step = true},
    {.pattern = R"re(/(?:kernel\.log|kern\.log|dmesg[^/]*))re" LGR_ROTATED, .stream = "kernel"},
};

// The first that matches gives the rank.
constexpr Shape kRankShapes[] = {
    {R"re((?:^|[^A-Za-z])local[._-]?rank[._=-]?(?P<local_rank>\d{1,7})(?:[^0-9A-Za-z/][^/]*)?$)re"},
    {R"re((?:^|[^A-Za-z])rank[._=-]?(?P<rank>\d{1,7})(?:[^0-9A-Za-z/][^/]*)?$)re"},
    // mpirun --output-filename: dir/1/rank.N/stdout
    {R"re(/rank[._=-]?(?P<rank>\d{1,7})/[^/]+$)re"},
    {R"re((?:^|[/._-])(?:stdout|stderr|out|err)[_-]?(?P<rank>\d{1,7})(?:\.[A-Za-z]+)*)re" LGR_ROTATED},
    {R"re(/(?:stdout|stderr|out|err)\.(?P<rank>\d{1,5})(?:\.[A-Za-z]+)*$)re", true},
    // srun -o 'x-%t.out'
    {R"re([._-](?P<rank>\d{1,5})\.(?:stdout|stderr|out|err))re" LGR_ROTATED, true},
    {R"re(/(?P<rank>\d{1,5})[._/-](?:stdout|stderr|out|err)(?:\.[A-Za-z]+)*)re" LGR_ROTATED, true},
    {R"re(/(?:train|trainer|worker|proc|process|task|log)[._-]?(?P<rank>\d{1,5})\.(?:log|txt))re" LGR_ROTATED,
     true},
};

constexpr Shape kStreamShapes[] = {
    {R"re((?:^|[/._-])(?P<stream>stdout|stderr)(?:[._-]?\d+)?(?:[._-][^/]*)?$)re"},
    {R"re((?:^|[/._-])(?P<stream>out|err)(?:[._-]?\d+)?(?:[._-](?:rank[^/]*))?(?:\.[A-Za-z]+)*)re" LGR_ROTATED},
};

constexpr Shape kAttemptShapes[] = {
    {R"re((?:^|[/._-])attempt[._=-]?(?P<attempt>\d{1,6})(?:[/._-]|$))re"},
};
#undef LGR_ROTATED

struct CompiledShape {
  Regex regex;
  bool needs_family;
  std::string stream;
  bool slurm_step;
};
using CompiledShapes = std::vector<CompiledShape>;

template <std::size_t N>
CompiledShapes compile_all(const Shape (&shapes)[N]) {
  CompiledShapes out;
  for (const Shape& shape : shapes) {
    auto regex = Regex::compile(shape.pattern, RegexMode::latin1);
    LGR_ASSERT(regex.ok());
    out.push_back({std::move(regex).value(), shape.needs_family, shape.stream, shape.slurm_step});
  }
  return out;
}

std::string stream_name(std::string_view word) {
  if (word == "out") return "stdout";
  if (word == "err") return "stderr";
  return clean_text(word);
}

std::string family_of(std::string_view path, std::string_view digits) {
  const auto at = static_cast<std::size_t>(digits.data() - path.data());
  return std::string(path.substr(0, at)) + "#" + std::string(path.substr(at + digits.size()));
}

// Puts what the groups captured into `out`, where it has nothing yet.
void take_groups(std::string_view path, const Regex& regex, const Regex::Groups& groups,
                 PathAttributes& out) {
  const auto& names = regex.group_names();
  for (std::size_t i = 1; i < groups.size(); ++i) {
    if (!groups[i] || groups[i]->empty()) continue;
    const std::string& name = names[i];
    const std::string_view value = *groups[i];
    if (name == "job" && out.job.empty()) out.job = usable_job_name(clean_text(value));
    // torchrun's default run id names nothing.
    if (name == "run_id" && value != "none" && out.job.empty())
      out.job = usable_job_name(clean_text(value));
    if (name == "pod" && out.job.empty()) out.job = usable_job_name(pod_owner(value));
    if (name == "host" && out.host.empty()) out.host = clean_text(value);
    if (name == "stream" && out.stream.empty()) out.stream = stream_name(value);
    if ((name == "attempt" || name == "restart") && !out.attempt) out.attempt = parse_count(value);
    constexpr std::string_view kLabels[] = {"run_id",    "session", "worker",    "pid", "job",
                                            "namespace", "pod",     "container", "uid", "restart"};
    if (std::find(std::begin(kLabels), std::end(kLabels), name) != std::end(kLabels)) {
      out.labels.emplace(name, clean_text(value));
    }
    if (name == "rank" && !out.rank) {
      out.rank = parse_count(value);
      out.family = family_of(path, value);
    }
    if (name == "local_rank" && !out.local_rank) {
      out.local_rank = parse_count(value);
      if (!out.rank) out.family = family_of(path, value);
    }
  }
}

const CompiledShape* first_match(const CompiledShapes& shapes, std::string_view path,
                                 Regex::Groups& groups) {
  for (const CompiledShape& shape : shapes) {
    if (shape.regex.search(path, groups)) return &shape;
  }
  return nullptr;
}

}  // namespace

PathAttributes path_shape(std::string_view given) {
  static const CompiledShapes kWhole = compile_all(kWholeShapes);
  static const CompiledShapes kRank = compile_all(kRankShapes);
  static const CompiledShapes kStream = compile_all(kStreamShapes);
  static const CompiledShapes kAttempt = compile_all(kAttemptShapes);

  const std::string path = given.starts_with('/') ? std::string(given) : "/" + std::string(given);
  PathAttributes out;
  Regex::Groups groups;
  if (const CompiledShape* whole = first_match(kWhole, path, groups)) {
    take_groups(path, whole->regex, groups, out);
    if (!whole->stream.empty()) out.stream = whole->stream;
    out.slurm_step = whole->slurm_step;
  } else {
    for (const CompiledShapes* shapes : {&kRank, &kStream}) {
      const CompiledShape* shape = first_match(*shapes, path, groups);
      if (shape == nullptr) continue;
      take_groups(path, shape->regex, groups, out);
      out.needs_family = out.needs_family || shape->needs_family;
    }
  }
  if (!out.attempt) {
    const CompiledShape* shape = first_match(kAttempt, path, groups);
    if (shape != nullptr) take_groups(path, shape->regex, groups, out);
  }
  if (!given.starts_with('/') && !out.family.empty()) out.family.erase(0, 1);
  return out;
}

Result<UserPathRegex> UserPathRegex::compile(const std::string& pattern) {
  LGR_TRY(Regex regex, Regex::compile(pattern, RegexMode::utf8));
  constexpr std::string_view kKnown[] = {"job", "attempt", "host", "rank", "local_rank", "stream"};
  for (const std::string& name : regex.group_names()) {
    if (!name.empty() &&
        std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown)) {
      return Error(
          ErrorCode::invalid,
          "unknown group '" + name + "' (known: job, attempt, host, rank, local_rank, stream)");
    }
  }
  return UserPathRegex(std::move(regex));
}

std::optional<PathAttributes> UserPathRegex::match(std::string_view path) const {
  Regex::Groups groups;
  if (!regex_.search(path, groups)) return std::nullopt;
  PathAttributes out;
  take_groups(path, regex_, groups, out);
  return out;
}

}  // namespace logarithm::agent
