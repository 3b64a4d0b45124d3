#include "agent/run_files.h"

#include <doctest/doctest.h>

#include "agent/discover/glob.h"
#include "agent/discover/path_shapes.h"

namespace logarithm::agent {
namespace {

TEST_CASE("RunFiles: what `logarithm run` keeps is found, with job, attempt and stream") {
  const auto pattern = run_files("", "/home/a.b");
  REQUIRE(pattern);
  const auto regex = UserPathRegex::compile(pattern->path);
  REQUIRE(regex.ok());
  const std::string base = "/home/a.b/.local/state/logarithm/run/";

  const std::string one = base + "llm/attempt-3/20261130T034640-17/stdout.log";
  CHECK(glob_matches(pattern->glob, one));
  const auto first = regex->match(one);
  REQUIRE(first);
  CHECK(first->job == "llm");
  CHECK(first->attempt == 3);
  CHECK(first->stream == "stdout");

  const auto second = regex->match(base + "team/llm/20261130T034640-17/stderr.log");
  REQUIRE(second);
  CHECK(second->job == "team/llm");
  CHECK_FALSE(second->attempt);
  CHECK(second->stream == "stderr");

  CHECK_FALSE(regex->match("/home/axb/.local/state/logarithm/run/j/20261130T034640-17/stdout.log"));
  CHECK_FALSE(regex->match(base + "j/notes/stdout.log"));
}

TEST_CASE("RunFiles: without a home there is nothing to follow") {
  CHECK_FALSE(run_files("", ""));
  CHECK_FALSE(run_files("", "/"));
  CHECK(run_files("/state", "")->glob == "/state/logarithm/run/**/*.log");
}

}  // namespace
}  // namespace logarithm::agent
