#include "agent/agent_config.h"

#include <doctest/doctest.h>

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
  CHECK(validate(config, "x").empty());
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
  const auto more = validate(config, "agent.yaml");
  problems.insert(problems.end(), more.begin(), more.end());
  const std::string text = config::to_string(problems);
  CAPTURE(text);
  CHECK(text.find("agent.yaml:1: agregator") != std::string::npos);
  CHECK(text.find("agent.yaml:3: spool.max_bytes") != std::string::npos);
  CHECK(text.find("files[0].glob: must be an absolute path") != std::string::npos);
  CHECK(text.find("files[0].job") != std::string::npos);
  CHECK(text.find("files[0].path: ") != std::string::npos);
  CHECK(text.find("metrics: not host:port") != std::string::npos);
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

TEST_CASE("Reload: any mistake of the agent's files is an error, and nothing is taken in part") {
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
  for (const char* bad : {"rules: [{name: x, match: '('}]", "rules: [", "- 3"}) {
    CAPTURE(bad);
    write("rules.yaml", bad);
    CHECK(!reload_settings(line).ok());
    config::Problems problems;
    const auto started = load_settings(line, problems);  // at the start such a rule is left out
    REQUIRE(started.ok());
    CHECK(problems.empty());
    CHECK(!started->rule_problems.empty());
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
