#pragma once

#include <memory>
#include <string>

#include "cli/agent_run.h"
#include "cli/child_process.h"
#include "cli/options.h"
#include "cli/runner.h"
#include "common/net/http.h"

namespace logarithm::cli {

// A directory of ours under the system's temporary directory; removed with all that it holds.
class WorkDir {
 public:
  static Result<std::unique_ptr<WorkDir>> make();
  ~WorkDir();
  WorkDir(const WorkDir&) = delete;
  WorkDir& operator=(const WorkDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit WorkDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Behind --files: an aggregator of our own on loopback that has read the files. The destructor ends
// it and removes what it stored.
class PrivateServer {
 public:
  static Result<std::unique_ptr<PrivateServer>> start(Runner& runner, const Options& options,
                                                      const ImportRequest& request);
  const net::Url& url() const { return url_; }

 private:
  PrivateServer(std::unique_ptr<WorkDir> dir, ChildProcess aggregator, net::Url url)
      : dir_(std::move(dir)), aggregator_(std::move(aggregator)), url_(std::move(url)) {}

  std::unique_ptr<WorkDir> dir_;  // outlives the program that writes into it
  ChildProcess aggregator_;
  net::Url url_;
};

}  // namespace logarithm::cli
