#include "agent/agent_config.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/discover/glob.h"
#include "agent/discover/path_shapes.h"
#include "agent/settings.h"
#include "tests/support/temp_dir.h"

namespace logarithm::agent::test {
namespace {

using logarithm::test::TempDir;

AgentConfig load(const std::string& yaml, config::Problems& problems) {
  const TempDir dir;
  std::ofstream(dir.file("agent.yaml")) << yaml;
  AgentConfig config;
  CHECK(load_config(dir.file("agent.yaml"), config, problems).ok());
  return config;
}

}  // namespace

TEST_CASE("AgentConfig: the example shows all keys with their defaults") {
  AgentConfig config;
  config::Problems problems;
  REQUIRE(load_config(LGR_SOURCE_DIR "/config/agent.example.yaml", config, problems).ok());
  CHECK(config::to_string(problems) == "");
  CHECK(print_config(config) == print_config(AgentConfig()));
  CHECK(validate(config).empty());
}

TEST_CASE("AgentConfig: what is printed is read back as the same") {
  config::Problems problems;
  const AgentConfig config = load(
      "aggregator: ws://h:1\nspool: {max_bytes: 2GiB}\nonce: true\n"
      "files: [{glob: '/a/*.log', job: j, path: '(?P<rank>\\d+)'}]\n"
      "import: {job: i, roots: [/x, /y], tz: UTC}\n",
      problems);
  REQUIRE(problems.empty());
  CHECK(!config.discover.processes);
  const AgentConfig again = load(print_config(config), problems);
  CHECK(config::to_string(problems) == "");
  CHECK(print_config(again) == print_config(config));
}

TEST_CASE("AgentConfig: every problem is told at once, with its line") {
  config::Problems problems;
  const AgentConfig config = load(
      "agregator: ws://h:1\nspool:\n  max_bytes: lots\nfiles:\n  - glob: relative/*.log\n    path: "
      "'rank-(?P<rank'\n"
      "metrics: nowhere\n",
      problems);
  const auto more = validate(config);
  problems.insert(problems.end(), more.begin(), more.end());
  const std::string text = config::to_string(problems);
  CAPTURE(text);
  CHECK(text.find("agent.yaml:1: agregator") != std::string::npos);
  CHECK(text.find("agent.yaml:3: spool.max_bytes") != std::string::npos);
  CHECK(text.find("files[0].glob: must be an absolute path") != std::string::npos);
  CHECK(text.find("files[0].job") != std::string::npos);
  CHECK(text.find("files[0].path: ") != std::string::npos);
  CHECK(text.find("agent.yaml:7: metrics: not host:port: nowhere (write") != std::string::npos);
}

TEST_CASE("AgentConfig: what is wrong with the whole is told where it was given") {
  const TempDir dir;
  CommandLine line;
  line.config = dir.file("agent.yaml");
  const auto told = [&](const std::string& yaml) {
    std::ofstream(line.config) << yaml;
    config::Problems problems;
    CHECK(load_settings(line, problems).ok());
    return config::to_string(problems);
  };
  const std::string text = told(
      "aggregator: 'ftp://h'\nstate_dir: ''\nproc_root: ''\nmetrics: 127.0.0.1:70000\n"
      "spool:\n  segment_bytes: 256MiB\n  max_bytes: 512MiB\n");
  CAPTURE(text);
  for (const char* one :
       {":1: aggregator: ", ":2: state_dir: must not be empty", ":3: proc_root: must not be empty",
        ":4: metrics: port 70000 is not from 0 to 65535; or off",
        ":7: spool.max_bytes: must be at least four times spool.segment_bytes (256MiB)"}) {
    CAPTURE(one);
    CHECK(text.find(line.config + one) != std::string::npos);
  }
  // The one that was given is the one to change.
  CHECK(told("spool: {max_bytes: 8MiB}\n").starts_with(line.config + ":1: spool.max_bytes: "));
  AgentConfig small;
  small.spool.max_bytes = 1u << 20;
  config::Problems problems;
  std::ofstream(line.config) << "spool:\n  segment_bytes: 1MiB\n";
  REQUIRE(load_config(line.config, small, problems).ok());
  REQUIRE(validate(small).size() == 1);
  CHECK(validate(small)[0].to_string() ==
        line.config +
            ":2: spool.segment_bytes: must be at most a quarter of spool.max_bytes (1MiB)");

  line.metrics = "here";
  line.aggregator = "there";
  const std::string stated = told("metrics: 127.0.0.1:70000\n");
  CHECK(stated.find("command line: --metrics: not host:port: here") != std::string::npos);
  CHECK(stated.find("command line: --aggregator: 'there'") != std::string::npos);
  CHECK(stated.find("70000") == std::string::npos);
}

TEST_CASE("AgentConfig: a rule file that is not there is told at the line that names it") {
  const TempDir dir;
  CommandLine line;
  line.config = dir.file("agent.yaml");
  const std::string there = dir.file("there.yaml"), gone = dir.file("gone.yaml");
  std::ofstream(there) << "rules: [{name: mine, match: 'a(?P<b>c)', fields: {b: string}}]\n";
  std::ofstream(line.config) << "rules:\n  - " << there << "\n  - " << gone << "\n  - "
                             << dir.path() << "\n";
  config::Problems problems;
  const auto settings = load_settings(line, problems);
  REQUIRE(settings.ok());
  CHECK(problems.empty());
  REQUIRE(settings->rule_problems.size() == 2);
  CHECK(settings->rule_problems[0].starts_with(line.config + ":3: rules[1]: cannot read " + gone +
                                               ": No such file"));
  CHECK(settings->rule_problems[1].starts_with(line.config + ":4: rules[2]: cannot read " +
                                               dir.path() + ": Is a directory"));
  const auto costs = settings->rules->costs();
  CHECK(std::any_of(costs.begin(), costs.end(),
                    [](const RuleCost& cost) { return cost.name == "mine"; }));
}

TEST_CASE("AgentConfig: a time zone that nobody knows is a mistake at its line, as any other") {
  for (const char* tz : {"Mars/Olympus", "CET-1CEST,M3.5.0,M10.5.0/3", "../localtime"}) {
    CAPTURE(tz);
    config::Problems problems;
    load(std::string("import:\n  job: j\n  roots: /x\n  tz: '") + tz + "'\n", problems);
    const std::string text = config::to_string(problems);
    CAPTURE(text);
    REQUIRE(problems.size() == 1);
    CHECK(text.find(std::string("agent.yaml:4: import.tz: unknown time zone ") + tz) !=
          std::string::npos);
  }
  for (const char* tz : {"", "UTC", "JST-9", "<+0530>-5:30"}) {
    CAPTURE(tz);
    config::Problems problems;
    load(std::string("import: {job: j, roots: /x, tz: '") + tz + "'}\n", problems);
    CHECK(config::to_string(problems) == "");
  }
}

TEST_CASE("AgentConfig: the example of a followed file in README follows one") {
  std::ifstream file(LGR_SOURCE_DIR "/README.md");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t begin = text.find("files:\n");
  REQUIRE(begin != std::string::npos);
  const TempDir dir;
  std::ofstream(dir.file("agent.yaml")) << text.substr(begin, text.find("```", begin) - begin);
  AgentConfig config;
  config::Problems problems;
  REQUIRE(load_config(dir.file("agent.yaml"), config, problems).ok());
  CHECK(problems.empty());
  REQUIRE(config.files.size() == 1);
  const std::string name = "/scratch/run7/out/rank-3.out";
  CHECK(glob_matches(config.files[0].glob, name));
  const auto path = UserPathRegex::compile(config.files[0].path);
  REQUIRE(path.ok());
  const auto attributes = path->match(name);
  REQUIRE(attributes);
  CHECK(attributes->rank == 3);
  CHECK(attributes->stream == "stdout");
}

TEST_CASE("AgentConfig: the token is never printed") {
  AgentConfig config;
  config.token = "secret-token";
  CHECK(print_config(config).find("secret-token") == std::string::npos);
}

TEST_CASE("Reload: a bad rule is left out and told, as at the start, and the others are taken") {
  const TempDir dir;
  CommandLine line;
  line.config = dir.file("agent.yaml");
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(dir.file(name)) << text;
  };
  CHECK(!reload_settings(line).ok());  // gone
  write("rules.yaml", "rules: [{name: x, match: 'a(?P<b>c)', fields: {b: string}}]\n");
  write("agent.yaml", "rules: [" + dir.file("rules.yaml") + "]\n");
  const auto good = reload_settings(line);
  REQUIRE(good.ok());
  CHECK(good->rules->size() > 1);
  CHECK(good->rule_problems.empty());
  const std::string fine = "rules:\n  - name: fine\n    match: 'a(?P<d>e)'\n    fields: {d: int}\n";
  struct Bad {
    std::string rules, told;
    bool fine_runs;
  };
  for (const Bad& bad :
       {Bad{fine + "  - {name: x, match: '('}\n", ":5: rules[1].match: ", true},
        Bad{fine + "  - {name: x, match: 'a', wrong: 1}\n", ":5: rules[1].wrong: ", true},
        Bad{fine + "  - {name: x, match: '(?P<a>b)(?P<a>c)'}\n", ":5: rules[1].match: ", true},
        Bad{"rules: [", ":", false}, Bad{"- 3", ":1: rules: ", false}}) {
    CAPTURE(bad.rules);
    write("rules.yaml", bad.rules);
    const auto again = reload_settings(line);
    REQUIRE(again.ok());
    std::string told;
    for (const std::string& problem : again->rule_problems) told += problem + "\n";
    CAPTURE(told);
    CHECK(told.find(dir.file("rules.yaml") + bad.told) != std::string::npos);
    const auto costs = again->rules->costs();
    CHECK(again->rules->size() == good->rules->size() - (bad.fine_runs ? 0 : 1));
    CHECK(std::any_of(costs.begin(), costs.end(),
                      [](const RuleCost& cost) { return cost.name == "fine"; }) == bad.fine_runs);
    config::Problems problems;
    const auto started = load_settings(line, problems);
    REQUIRE(started.ok());
    CHECK(problems.empty());
    CHECK(started->rule_problems == again->rule_problems);
    CHECK(started->rules->size() == again->rules->size());
  }
  std::filesystem::remove(dir.file("rules.yaml"));
  const auto without = reload_settings(line);
  REQUIRE(without.ok());
  REQUIRE(without->rule_problems.size() == 1);
  CHECK(without->rule_problems[0].starts_with(line.config + ":1: rules[0]: cannot read "));
}

TEST_CASE("Reload: any mistake of the configuration is an error, and nothing is taken in part") {
  const TempDir dir;
  CommandLine line;
  line.config = dir.file("agent.yaml");
  for (const char* bad : {"nonsense: 1", "spool: {max_bytes: lots}", "metrics: nowhere", "files: [",
                          "import: {job: j, roots: /x, tz: Mars/Olympus}"}) {
    CAPTURE(bad);
    std::ofstream(line.config) << bad << "\n";
    const auto refused = reload_settings(line);
    REQUIRE(!refused.ok());
    CHECK(refused.error().message().starts_with(line.config + ":"));
  }
}

TEST_CASE("Reload: what only a start takes in is named, the command line goes over the file") {
  const TempDir dir;
  CommandLine line;
  line.config = dir.file("agent.yaml");
  std::ofstream(line.config) << "aggregator: ws://h:1\nhost: x\nspool: {max_bytes: 2GiB}\n"
                                "log_level: error\ndiscover: {kernel_log: false}\n";
  AgentConfig running;
  running.host = "looked-up";
  auto wanted = reload_settings(line);
  REQUIRE(wanted.ok());
  CHECK(needs_restart(running, wanted->config) == std::vector<std::string>{"aggregator", "host"});
  line.aggregator = running.aggregator;
  wanted = reload_settings(line);
  CHECK(needs_restart(running, wanted->config) == std::vector<std::string>{"host"});
  CHECK(wanted->config.log_level == LogThreshold::error);
  CHECK(!wanted->config.discover.kernel_log);
}

}  // namespace logarithm::agent::test
