#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <cstdio>
#include <random>

#include "cli/filters.h"
#include "cli/line_printer.h"
#include "cli/tail_client.h"
#include "cli/tail_view.h"
#include "cli/verb.h"
#include "common/config/units.h"

namespace logarithm::cli {
namespace {

// On a terminal somebody looks at what happens now; a program wants every line.
constexpr std::string_view kBehindOnTerminal = "10s", kBehindElse = "0s";

ScreenSize screen_size() {
  ScreenSize out;
  struct winsize window {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0) return out;
  if (window.ws_row > 0) out.rows = window.ws_row;
  if (window.ws_col > 0) out.columns = window.ws_col;
  return out;
}

class TailVerb final : public Verb {
 public:
  void add_to(CLI::App& root) override {
    app_ = add_verb(root, "tail", "Lines of a job as they come, until Ctrl-C");
    app_->add_option("JOB", job_, "The job");
    app_->add_option("LOGQL", filters_.logql, "LogQL: '{rank=\"2\"} |= \"grad_norm\"'");
    filters_.add_to(*app_);
    app_->add_option("--limit", limit_, "End after this many lines (text, ndjson, raw)")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 53));
    app_->add_option("--direction", direction_, "forward: lines come in their order")
        ->check(CLI::IsMember({"forward", "backward"}));
    app_->add_flag("--ids", ids_, "Show each line's id, for `context`");
    app_->add_option("--max-behind", max_behind_,
                     "When this far behind the job, skip to the newest lines and say how many "
                     "were left out; 0s: never (default: 10s on a terminal, else 0s)");
    app_->add_option("--files", files_)->group("");  // refused in words, see run()
    app_->footer(
        "--since 15m shows those lines first; without it only lines that arrive from now on come. "
        "A lost server is tried again, and nothing is left out or shown twice. As text, the "
        "redraws of a progress bar are folded into one line (on a terminal drawn in place); "
        "--output ndjson gives every line, --output json the server's messages.");
  }
  bool chosen() const override { return app_->parsed(); }

  int run(Runner& runner, const Options& options) override {
    auto output = parse_output(options.output);
    if (!output.ok()) return usage(output.error());
    if (ids_ && *output == Output::raw) {
      return usage(
          Error(ErrorCode::invalid, "--output raw gives the bytes of lines, without --ids"));
    }
    if (!files_.empty()) {
      return usage(Error(ErrorCode::invalid,
                         "tail follows a job that runs: with --files nothing arrives any more, "
                         "use `logarithm query --files`"));
    }
    if (job_.empty()) return usage(Error(ErrorCode::invalid, "tail needs JOB"));
    if (direction_ == "backward") {
      return usage(Error(ErrorCode::invalid,
                         "tail shows lines as they come: the newest first are for "
                         "`logarithm query --direction backward`"));
    }
    if (limit_ != 0 && *output == Output::json) {
      return usage(Error(ErrorCode::invalid,
                         "--output json gives whole messages: --limit goes with ndjson"));
    }
    auto params = filters_.params();
    if (!params.ok()) return usage(params.error());
    params->emplace_back("job", job_);
    const bool terminal = ::isatty(STDOUT_FILENO) == 1;
    std::string behind(terminal ? kBehindOnTerminal : kBehindElse);
    if (!max_behind_.empty()) behind = max_behind_;
    if (auto good = config::parse_duration(behind); !good.ok()) {
      return usage(Error(ErrorCode::invalid, "--max-behind: " + good.error().message()));
    }
    params->emplace_back("max_behind", behind);
    auto server = net::parse_url(options.server);
    if (!server.ok()) return usage(server.error());
    return follow(runner, options, *output, std::move(*server), std::move(*params), terminal);
  }

 private:
  int follow(Runner& runner, const Options& options, Output output, net::Url server, Params params,
             bool terminal) {
    LineStyle style;
    style.colour = options.colour;
    style.ids = ids_;
    const bool draws = terminal && output == Output::text;
    TailView view(output, style, draws ? screen_size : std::function<ScreenSize()>());
    StdoutWriter out;
    // Where bars are drawn a message has its place among the lines.
    const auto say = [&](const std::string& text) {
      if (!draws) {
        std::fprintf(stderr, "logarithm: %s\n", text.c_str());
        return;
      }
      view.note("logarithm: " + text);
      out.write(view.draw());
      out.finish();
    };
    std::uint64_t lines = 0;
    const auto reached = [&] { return limit_ != 0 && lines == limit_; };
    TailClient::Hooks hooks;
    hooks.message = [&](const TailMessage& message, std::string_view raw) {
      if (message.skipped > 0) say(std::to_string(message.skipped) + " lines skipped: too slow");
      if (message.unreadable > 0) {
        say(std::to_string(message.unreadable) + " lines are in damaged blocks");
      }
      if (output == Output::json) {
        out.write(raw);
        out.write("\n");
      } else {
        for (const std::string_view line : message.lines) {
          if (reached()) break;
          view.add(line);
          ++lines;
        }
        out.write(view.draw());
      }
      return out.finish() && !reached();
    };
    hooks.lost = [&](const std::string& why) { say(why + "; trying again"); };
    hooks.found_again = [&] { say("connected again"); };
    SystemClock clock;
    TailClient client(std::move(server), options.token, std::move(params), std::move(hooks), clock,
                      std::random_device{}());
    auto ended = runner.run(client.run());
    out.write(view.finish());
    const bool written = out.finish();
    if (runner.interrupted()) return written ? kExitOk : kExitFailure;
    if (!ended.ok()) return fail(ended.error());
    if (reached()) return written ? kExitOk : kExitFailure;
    return kExitFailure;  // nobody reads our output any more
  }

  CLI::App* app_ = nullptr;
  std::string job_, max_behind_, direction_;
  std::uint64_t limit_ = 0;
  bool ids_ = false;
  Filters filters_;
  std::vector<std::string> files_;
};

}  // namespace

std::unique_ptr<Verb> make_tail() { return std::make_unique<TailVerb>(); }

}  // namespace logarithm::cli
