#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/runner.h"
#include "common/base/result.h"

namespace CLI {
class App;
}

namespace logarithm::cli {

// One verb of the command line, one file each.
class Verb {
 public:
  virtual ~Verb() = default;
  // Adds its subcommand with its options; called once.
  virtual void add_to(CLI::App& root) = 0;
  virtual bool chosen() const = 0;
  // Does it and returns the exit status. Everything it says goes to stdout (what was asked for) or
  // stderr (the rest).
  virtual int run(Runner& runner, const Options& options) = 0;
};

std::unique_ptr<Verb> make_jobs();
std::unique_ptr<Verb> make_query();
std::unique_ptr<Verb> make_tail();
std::unique_ptr<Verb> make_run();
std::unique_ptr<Verb> make_context();
std::unique_ptr<Verb> make_import();
std::unique_ptr<Verb> make_export();
std::unique_ptr<Verb> make_series();
std::unique_ptr<Verb> make_callsites();
std::unique_ptr<Verb> make_triage();
std::unique_ptr<Verb> make_compare();
std::unique_ptr<Verb> make_correlate();
std::unique_ptr<Verb> make_hide();

// Says `error` on stderr and gives the exit status for it.
int fail(const Error& error);
int usage(const Error& error);

// Makes a subcommand in our way: global options may follow it.
CLI::App* add_verb(CLI::App& root, const std::string& name, const std::string& help);

}  // namespace logarithm::cli
