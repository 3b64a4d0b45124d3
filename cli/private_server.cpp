#include "cli/private_server.h"

#include <stdlib.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "common/base/clock.h"

namespace logarithm::cli {
namespace {

constexpr std::chrono::milliseconds kReadyTurn(10);
constexpr std::chrono::seconds kStartDeadline(60);

// Waits until the aggregator has written where it listens.
Result<std::string> wait_until_ready(Runner& runner, ChildProcess& aggregator,
                                     const std::string& dir) {
  const SystemClock clock;
  const auto deadline = clock.now() + kStartDeadline;
  std::string before;
  for (;;) {
    std::string address = end_of_file(dir + "/ready", 200);
    if (address.ends_with('\n')) address.pop_back();
    if (!address.empty() && address == before) return address;  // not torn
    before = address;
    const bool late = clock.now() > deadline;
    if (aggregator.poll() || late) {
      return Error(ErrorCode::io, "the private aggregator " +
                                      std::string(late ? "is not ready in time" : "ended") + ":\n" +
                                      end_of_file(dir + "/aggregator.log", 4096));
    }
    LGR_CHECK(runner.wait(kReadyTurn));
  }
}

}  // namespace

Result<std::unique_ptr<WorkDir>> WorkDir::make() {
  std::error_code unknown;
  auto base = std::filesystem::temp_directory_path(unknown);
  if (unknown) base = "/tmp";
  std::string pattern = (base / "logarithm-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return errno_error(errno, pattern);
  return std::unique_ptr<WorkDir>(new WorkDir(std::move(pattern)));
}

WorkDir::~WorkDir() {
  std::error_code failed;
  std::filesystem::remove_all(path_, failed);
  if (failed) {
    std::fprintf(stderr, "logarithm: could not remove %s: %s\n", path_.c_str(),
                 failed.message().c_str());
  }
}

Result<std::unique_ptr<PrivateServer>> PrivateServer::start(Runner& runner, const Options& options,
                                                            const ImportRequest& request) {
  LGR_TRY(auto dir, WorkDir::make());
  const std::string& path = dir->path();
  const std::vector<std::string> arguments{options.programs + "/logarithm-aggregator",
                                           "--listen",
                                           "127.0.0.1:0",
                                           "--data-dir",
                                           path + "/data",
                                           "--ready-file",
                                           path + "/ready"};
  const std::string log = path + "/aggregator.log", out = path + "/aggregator.out";
  LGR_TRY(ChildProcess aggregator, ChildProcess::start(arguments, out, log));
  std::unique_ptr<PrivateServer> server(
      new PrivateServer(std::move(dir), std::move(aggregator), net::Url()));
  LGR_TRY(std::string address, wait_until_ready(runner, server->aggregator_, path));
  LGR_TRY(server->url_, net::parse_url("http://" + address));
  Progress progress(options.terminal);
  Options own = options;
  own.token.clear();  // of another server
  LGR_TRY(std::string summary, run_agent(runner, own, request, "ws://" + address, path, progress));
  std::fputs((options.terminal ? summary : left_out(summary)).c_str(), stderr);
  LGR_CHECK(found_files(summary, request));
  return server;
}

}  // namespace logarithm::cli
