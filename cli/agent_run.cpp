#include "cli/agent_run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "cli/child_process.h"
#include "common/config/units.h"
#include "common/model/job_name.h"

namespace logarithm::cli {
namespace {

constexpr std::chrono::milliseconds kTurn(20);

}  // namespace

std::string default_job(const std::string& root) {
  std::error_code unknown;
  std::filesystem::path path = std::filesystem::weakly_canonical(root, unknown);
  if (unknown) path = std::filesystem::path(root);
  if (!path.has_filename()) path = path.parent_path();
  const bool directory = std::filesystem::is_directory(path, unknown);
  std::string name = directory ? path.filename().string() : path.stem().string();
  return name.empty() || name == "/" ? "files" : usable_job_name(name);
}

std::string agent_config(const ImportRequest& request, const std::string& aggregator,
                         const std::string& state_dir, const std::string& token) {
  using config::yaml_quote;
  std::string out = "aggregator: " + yaml_quote(aggregator) + "\n";
  if (!token.empty()) out += "token: " + yaml_quote(token) + "\n";
  out += "state_dir: " + yaml_quote(state_dir) + "\n";
  out += "metrics: \"off\"\n";  // an agent of this host may have the port
  out += "discover:\n  processes: false\n";
  out += "import:\n  job: " + yaml_quote(request.job) + "\n  roots:\n";
  for (const std::string& root : request.roots) out += "  - " + yaml_quote(root) + "\n";
  if (!request.path.empty()) out += "  path: " + yaml_quote(request.path) + "\n";
  if (!request.tz.empty()) out += "  tz: " + yaml_quote(request.tz) + "\n";
  return out;
}

std::string left_out(const std::string& summary) {
  const std::size_t begin = summary.find("not captured ");
  if (begin == std::string::npos || summary.compare(begin, 15, "not captured 0\n") == 0) return "";
  // Its heading, and the indented lines below.
  std::size_t end = summary.find('\n', begin);
  while (end != std::string::npos && summary.compare(end + 1, 2, "  ") == 0) {
    end = summary.find('\n', end + 1);
  }
  return summary.substr(begin, end == std::string::npos ? end : end + 1 - begin);
}

Status found_files(const std::string& summary, const ImportRequest& request) {
  if (!summary.starts_with("files 0\n")) return {};
  std::string where;
  for (const std::string& root : request.roots) where += (where.empty() ? "" : ", ") + root;
  return Error(ErrorCode::not_found, "no log files in " + where);
}

namespace {

// Of an agent's log what went wrong, each once; all of it when nothing is marked as that.
std::string reasons_in(const std::string& log) {
  std::string out;
  std::size_t begin = 0;
  while (begin < log.size()) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    begin = end + 1;
    for (const char* mark : {"[error] ", "[warning] "}) {
      const std::size_t at = line.find(mark);
      if (at == std::string::npos) continue;
      std::string reason = "  " + line.substr(at + std::string_view(mark).size());
      reason = reason.substr(0, reason.find(" suppressed=")) + "\n";
      if (out.find(reason) == std::string::npos) out += reason;
    }
    if (line.find("] ") == std::string::npos && !line.empty()) out += "  " + line + "\n";
  }
  return out.empty() ? log : out;
}

}  // namespace

std::optional<std::string> option_at_fault(const std::string& reasons) {
  for (const auto& [key, option] :
       {std::pair("import.path: ", "--path: "), std::pair("import.tz: ", "--tz: ")}) {
    const std::size_t at = reasons.find(key);
    if (at == std::string::npos) continue;
    const std::size_t from = at + std::string_view(key).size();
    return option + reasons.substr(from, reasons.find('\n', from) - from);
  }
  return std::nullopt;
}

std::string end_of_file(const std::string& file, std::size_t most) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return "";
  const auto size = static_cast<std::size_t>(in.tellg());
  const std::size_t start = size > most ? size - most : 0;
  in.seekg(static_cast<std::streamoff>(start));
  std::string text(size - start, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (start == 0) return text;
  const std::size_t line = text.find('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

Result<std::string> run_agent(Runner& runner, const Options& options, const ImportRequest& request,
                              const std::string& aggregator, const std::string& work_dir,
                              Progress& progress) {
  const std::string config = work_dir + "/agent.yaml";
  const std::string state = work_dir + "/state";
  const std::string out = work_dir + "/agent.out", log = work_dir + "/agent.log";
  ImportRequest absolute = request;
  for (std::string& root : absolute.roots) {
    std::error_code unknown;
    const auto path = std::filesystem::absolute(root, unknown);
    if (!unknown) root = path.lexically_normal().string();
  }
  std::ofstream file(config);
  file << agent_config(absolute, aggregator, state, options.token);
  file.close();
  if (!file) return Error(ErrorCode::io, "cannot write " + config);
  const std::vector<std::string> arguments{options.programs + "/logarithm-agent",
                                           "--once",
                                           "--config",
                                           config,
                                           "--aggregator",
                                           aggregator,
                                           "--state-dir",
                                           state};
  LGR_TRY(ChildProcess agent, ChildProcess::start(arguments, out, log));
  std::optional<int> status;
  while (!(status = agent.poll())) {
    progress.tick("reading files");
    LGR_CHECK(runner.wait(kTurn));
  }
  progress.clear();
  if (*status == kExitConfig) {
    const std::string why = reasons_in(end_of_file(log, 4096));
    return Error(ErrorCode::invalid, option_at_fault(why).value_or("the agent refuses:\n" + why));
  }
  if (*status != 0) {
    return Error(ErrorCode::io, "the agent ended with status " + std::to_string(*status) + ":\n" +
                                    reasons_in(end_of_file(log, 4096)));
  }
  return end_of_file(out, 1u << 20);
}

}  // namespace logarithm::cli
