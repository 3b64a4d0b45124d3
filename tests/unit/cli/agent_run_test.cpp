#include "cli/agent_run.h"

#include <doctest/doctest.h>

#include <fstream>

#include "common/config/yaml_node.h"
#include "tests/support/temp_dir.h"

namespace logarithm::cli {

TEST_CASE("left_out: the part of the summary that names files, if any") {
  CHECK(left_out("lines 3\nnot captured 0\nstored all\n").empty());
  CHECK(left_out("").empty());
  CHECK(left_out("lines 3\nnot captured 1\n  /a.gz: compressed\nstored all\n") ==
        "not captured 1\n  /a.gz: compressed\n");
}

TEST_CASE(
    "found_files: a summary without a file is an error that names where they were looked for") {
  ImportRequest request;
  request.roots = {"/a", "/b"};
  CHECK(found_files("files 2\nstreams 0\n", request).ok());
  const Status none = found_files("files 0\nstreams 0\n", request);
  REQUIRE(!none.ok());
  CHECK(none.error().message() == "no log files in /a, /b");
}

TEST_CASE("option_at_fault: what the agent refuses is the option that said it") {
  CHECK(option_at_fault("  cannot start: import.tz: unknown time zone Mars/X\n") ==
        "--tz: unknown time zone Mars/X");
  CHECK(option_at_fault("  /w/agent.yaml:9: import.path: missing )\n  more\n") ==
        "--path: missing )");
  CHECK_FALSE(option_at_fault("  cannot start: no space\n"));
}

TEST_CASE("agent_config: reads back as what was asked, whatever bytes the names have") {
  ImportRequest request;
  request.job = "run \"7\": #1";
  request.roots = {"/scratch/a b", "/x/y.log"};
  request.path = R"(rank-(?P<rank>\d+)\.(?P<stream>out|err)$)";
  request.tz = "Europe/Berlin";

  const std::string text = agent_config(request, "ws://127.0.0.1:7400", "/tmp/state", "secret");

  auto document = config::YamlDocument::parse("agent.yaml", text);
  REQUIRE(document.ok());
  const config::YamlNode root = document->root();
  CHECK(root.string("aggregator", "") == "ws://127.0.0.1:7400");
  CHECK(root.string("token", "") == "secret");
  CHECK(root.string("state_dir", "") == "/tmp/state");
  CHECK(root.string("metrics", "") == "off");
  CHECK_FALSE(root.child("discover").boolean("processes", true));
  const config::YamlNode import = root.child("import");
  CHECK(import.string("job", "") == request.job);
  CHECK(import.strings("roots") == request.roots);
  CHECK(import.string("path", "") == request.path);
  CHECK(import.string("tz", "") == request.tz);
  root.finish();
  CHECK(config::to_string(document->problems()) == "");
}

TEST_CASE("default_job: a directory's name, or a file's without its extension") {
  test::TempDir dir;
  const std::string run = dir.path() + "/run.7";
  std::filesystem::create_directory(run);
  std::ofstream(run + "/out-3.log") << "x\n";

  CHECK(default_job(run) == "run.7");
  CHECK(default_job(run + "/") == "run.7");
  CHECK(default_job(run + "/.") == "run.7");
  CHECK(default_job(run + "/out-3.log") == "out-3");
  CHECK(default_job("/") == "files");
}

TEST_CASE("end_of_file: starts at a line when it cuts") {
  test::TempDir dir;
  std::ofstream(dir.file("log")) << "first line\nsecond line\nthird\n";

  CHECK(end_of_file(dir.file("log"), 100) == "first line\nsecond line\nthird\n");
  CHECK(end_of_file(dir.file("log"), 10) == "third\n");
  CHECK(end_of_file(dir.file("none"), 10).empty());
}

}  // namespace logarithm::cli
