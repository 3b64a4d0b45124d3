#include "agent/agent_config.h"

#include "agent/discover/path_shapes.h"
#include "agent/discover/time_zone.h"
#include "common/base/clock.h"
#include "common/config/units.h"
#include "common/config/yaml_node.h"
#include "common/model/job_name.h"
#include "common/net/http.h"
#include "common/net/listen_address.h"

namespace logarithm::agent {
namespace {

void check_path(const config::YamlNode& node, const std::string& path) {
  if (path.empty()) return;
  if (const auto made = UserPathRegex::compile(path); !made.ok()) {
    node.problem_at("path", made.error().message());
  }
}

void check_job(const config::YamlNode& node, const std::string& job) {
  if (const auto problem = problem_of_job_name(job)) node.problem_at("job", *problem);
}

void check_zone(const config::YamlNode& node, const std::string& tz) {
  if (tz.empty()) return;
  const auto problem = time_zone_problem(tz, SystemClock().wall_now());
  if (problem) node.problem_at("tz", *problem);
}

}  // namespace

Status load_config(const std::string& file, AgentConfig& config, config::Problems& problems) {
  LGR_TRY(config::YamlDocument document, config::YamlDocument::load_file(file));
  const config::YamlNode root = document.root();
  config.aggregator = root.string("aggregator", config.aggregator);
  config.token = root.string("token", config.token);
  config.state_dir = root.string("state_dir", config.state_dir);
  config.proc_root = root.string("proc_root", config.proc_root);
  config.host = root.string("host", config.host);
  config.metrics = root.string("metrics", config.metrics);
  config.once = root.boolean("once", config.once);
  config.give_way = root.boolean("give_way", config.give_way);
  const std::string level = root.choice("log_level", std::string(to_string(config.log_level)),
                                        {"debug", "info", "warning", "error"});
  config.log_level = parse_log_threshold(level).value_or(config.log_level);

  const config::YamlNode spool = root.child("spool");
  config.spool.max_bytes = spool.size("max_bytes", config.spool.max_bytes, 1u << 20);
  config.spool.segment_bytes =
      spool.size("segment_bytes", config.spool.segment_bytes, 64u << 10, 256u << 20);
  config.spool.min_free = spool.size("min_free", config.spool.min_free);

  if (root.has("import")) {
    const config::YamlNode node = root.child("import");
    AgentConfig::Import import;
    import.job = node.required("job");
    check_job(node, import.job);
    import.roots = node.strings("roots");
    if (import.roots.empty()) node.problem_at("roots", "must name at least one file or directory");
    import.path = node.string("path", "");
    check_path(node, import.path);
    import.tz = node.string("tz", "");
    check_zone(node, import.tz);
    config.import = std::move(import);
    config.discover.processes = config.discover.runs = false;
    config.discover.kernel_log = false;
  }
  const config::YamlNode discover = root.child("discover");
  config.discover.processes = discover.boolean("processes", config.discover.processes);
  config.discover.runs = discover.boolean("runs", config.discover.runs);
  config.discover.kernel_log = discover.boolean("kernel_log", config.discover.kernel_log);
  config.discover.poll = discover.duration("poll", config.discover.poll,
                                           std::chrono::milliseconds(10), std::chrono::seconds(60));

  for (const config::YamlNode& node : root.list("files")) {
    FilePattern pattern;
    pattern.glob = node.required("glob");
    pattern.job = node.string("job", "");
    pattern.path = node.string("path", "");
    if (pattern.job.empty() && pattern.path.find("(?P<job>") == std::string::npos) {
      node.problem_at("job", "is needed: a name here, or a group (?P<job>…) in `path`");
    }
    if (!pattern.glob.empty() && pattern.glob.front() != '/') {
      node.problem_at("glob", "must be an absolute path");
    }
    check_job(node, pattern.job);
    check_path(node, pattern.path);
    config.files.push_back(std::move(pattern));
  }
  config.rules = root.strings("rules");
  root.finish();
  config.origins.read(file, document.lines());
  problems.insert(problems.end(), document.problems().begin(), document.problems().end());
  return {};
}

config::Problems validate(const AgentConfig& config) {
  config::Problems out;
  const auto note = [&](const std::string& key, std::string what) {
    out.push_back(config.origins.problem(key, std::move(what)));
  };
  const auto url = net::parse_url(config.aggregator);
  if (!url.ok()) {
    note("aggregator", url.error().message());
  } else if (url->scheme != "ws" && url->scheme != "http") {
    note("aggregator", "must begin with ws:// (\"" + config.aggregator + "\")");
  }
  if (config.state_dir.empty()) note("state_dir", "must not be empty");
  if (config.proc_root.empty()) note("proc_root", "must not be empty");
  if (config.metrics != "off") {
    const auto metrics = net::parse_listen(config.metrics);
    if (!metrics.ok()) note("metrics", metrics.error().message() + "; or off");
  }
  if (config.spool.max_bytes < 4 * config.spool.segment_bytes) {
    // Whichever was given is the one to change.
    const bool whole = config.origins.has("spool.max_bytes");
    note(whole ? "spool.max_bytes" : "spool.segment_bytes",
         whole ? "must be at least four times spool.segment_bytes (" +
                     config::format_size(config.spool.segment_bytes) + ")"
               : "must be at most a quarter of spool.max_bytes (" +
                     config::format_size(config.spool.max_bytes) + ")");
  }
  return out;
}

std::string print_config(const AgentConfig& config) {
  using config::yaml_quote;
  const auto yes_no = [](bool value) { return value ? "true" : "false"; };
  std::string out;
  out += "aggregator: " + yaml_quote(config.aggregator) + "\n";
  out += "token: " + yaml_quote(config.token.empty() ? "" : "***") + "\n";
  out += "state_dir: " + yaml_quote(config.state_dir) + "\n";
  out += "proc_root: " + yaml_quote(config.proc_root) + "\n";
  out += "host: " + yaml_quote(config.host) + "\n";
  out += "metrics: " + yaml_quote(config.metrics) + "\n";
  out += std::string("once: ") + yes_no(config.once) + "\n";
  out += std::string("give_way: ") + yes_no(config.give_way) + "\n";
  out += "log_level: " + std::string(to_string(config.log_level)) + "\n";
  out += "spool:\n";
  out += "  max_bytes: " + config::format_size(config.spool.max_bytes) + "\n";
  out += "  segment_bytes: " + config::format_size(config.spool.segment_bytes) + "\n";
  out += "  min_free: " + config::format_size(config.spool.min_free) + "\n";
  out += "discover:\n";
  out += std::string("  processes: ") + yes_no(config.discover.processes) + "\n";
  out += std::string("  runs: ") + yes_no(config.discover.runs) + "\n";
  out += std::string("  kernel_log: ") + yes_no(config.discover.kernel_log) + "\n";
  out += "  poll: " + config::format_duration(config.discover.poll) + "\n";
  out += config.files.empty() ? "files: []\n" : "files:\n";
  for (const FilePattern& pattern : config.files) {
    out += "  - glob: " + yaml_quote(pattern.glob) + "\n";
    out += "    job: " + yaml_quote(pattern.job) + "\n";
    out += "    path: " + yaml_quote(pattern.path) + "\n";
  }
  out += config.rules.empty() ? "rules: []\n" : "rules:\n";
  for (const std::string& rules : config.rules) out += "  - " + yaml_quote(rules) + "\n";
  if (config.import) {
    out += "import:\n  job: " + yaml_quote(config.import->job) + "\n  roots:\n";
    for (const std::string& root : config.import->roots) out += "    - " + yaml_quote(root) + "\n";
    out += "  path: " + yaml_quote(config.import->path) + "\n";
    out += "  tz: " + yaml_quote(config.import->tz) + "\n";
  }
  return out;
}

}  // namespace logarithm::agent
