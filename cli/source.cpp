#include "cli/source.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "common/model/job_name.h"

namespace logarithm::cli {

void FileOptions::add_to(CLI::App& app) {
  app.add_option("--files", files,
                 "Read log files in place of a server's job: directories and files")
      ->type_name("DIR|FILE")
      ->group("Files");
  app.add_option("--path", path,
                 "With --files: RE2 on the path; its groups (job, attempt, host, rank, local_rank, "
                 "stream) become attributes")
      ->group("Files");
  app.add_option("--tz", tz, "With --files: time zone of times that name none")->group("Files");
  app.add_option("--job", job, "With --files: the job's name (default: the directory's)")
      ->group("Files");
}

Status FileOptions::check() const {
  if (const auto problem = problem_of_job_name(job)) {
    return Error(ErrorCode::invalid, "--job: the name " + *problem);
  }
  if (used() || (path.empty() && tz.empty() && job.empty())) return {};
  return Error(ErrorCode::invalid, "--path, --tz and --job go with --files");
}

bool file_exists(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::exists(path, unknown);
}

Status split_files(std::vector<std::string>& files, std::vector<std::string>& positionals,
                   const std::function<bool(const std::string&)>& exists) {
  if (files.empty()) return {};
  if (!exists(files.front())) {
    return Error(ErrorCode::invalid, "--files: no such file or directory: " + files.front());
  }
  std::vector<std::string> real, others;
  for (std::string& value : files) {
    if (exists(value)) {
      real.push_back(std::move(value));
    } else {
      others.push_back(std::move(value));
    }
  }
  files = std::move(real);
  positionals.insert(positionals.begin(), others.begin(), others.end());
  return {};
}

Result<Source> open_source(Runner& runner, const Options& options, const FileOptions& files) {
  if (!files.used()) {
    LGR_TRY(net::Url server, net::parse_url(options.server));
    return Source{ApiClient(runner, std::move(server), options.token), "", nullptr};
  }
  ImportRequest request;
  request.job = files.job.empty() ? default_job(files.files.front()) : files.job;
  request.roots = files.files;
  request.path = files.path;
  request.tz = files.tz;
  LGR_TRY(auto owned, PrivateServer::start(runner, options, request));
  ApiClient api(runner, owned->url(), "");
  return Source{std::move(api), request.job, std::move(owned)};
}

namespace {

// For a POSIX shell.
std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string context_command(const Options& options, const FileOptions& files) {
  std::string out = "logarithm";
  if (!files.used()) {
    const auto stated = std::find(options.environment.begin(), options.environment.end(),
                                  "LOGARITHM_SERVER=" + options.server);
    if (options.server != Options().server && stated == options.environment.end()) {
      out += " --server " + shell_word(options.server);
    }
    return out + " context";
  }
  out += " context";
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out += std::string(" ") + name + " " + shell_word(value);
  };
  add("--path", files.path);
  add("--tz", files.tz);
  add("--job", files.job);
  out += " --files";
  for (const std::string& file : files.files) out += " " + shell_word(file);
  return out;
}

std::string job_path(const std::string& job, const std::string& what) {
  return "/api/v1/jobs/" + net::percent_encode(job) + (what.empty() ? "" : "/" + what);
}

}  // namespace logarithm::cli
