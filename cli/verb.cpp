#include "cli/verb.h"

#include <CLI/App.hpp>
#include <cstdio>

namespace logarithm::cli {

int fail(const Error& error) {
  std::fprintf(stderr, "logarithm: %s\n", error.message().c_str());
  // What the server refuses as wrong is what the user wrote.
  return error.code() == ErrorCode::invalid ? kExitUsage : kExitFailure;
}

int usage(const Error& error) {
  std::fprintf(stderr, "logarithm: %s\n", error.message().c_str());
  return kExitUsage;
}

CLI::App* add_verb(CLI::App& root, const std::string& name, const std::string& help) {
  CLI::App* app = root.add_subcommand(name, help);
  app->fallthrough();
  return app;
}

}  // namespace logarithm::cli
