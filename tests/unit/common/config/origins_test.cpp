#include "common/config/origins.h"

#include <doctest/doctest.h>

#include "common/config/yaml_node.h"

namespace logarithm::config {
namespace {

Origins read(const std::string& text) {
  auto document = YamlDocument::parse("a.yaml", text);
  REQUIRE(document.ok());
  const YamlNode root = document->root();
  root.string("listen", "");
  root.child("spool").size("max_bytes", 0);
  root.child("spool").size("segment_bytes", 0);
  root.strings("rules");
  for (const YamlNode& node : root.list("tokens")) node.string("token", "");
  Origins origins;
  origins.read("a.yaml", document->lines());
  return origins;
}

constexpr const char* kFile =
    "listen: x\n"
    "spool:\n"
    "  max_bytes: 1\n"
    "rules:\n"
    "  - one\n"
    "  - two\n"
    "tokens:\n"
    "  - tenant: t\n"
    "    token: a\n"
    "  - token: b\n";

}  // namespace

TEST_CASE("Origins: a key of the file has its line, whatever it lies in") {
  const Origins origins = read(kFile);
  CHECK(origins.problem("listen", "no").to_string() == "a.yaml:1: listen: no");
  CHECK(origins.problem("spool.max_bytes", "no").to_string() == "a.yaml:3: spool.max_bytes: no");
  CHECK(origins.problem("rules[1]", "no").to_string() == "a.yaml:6: rules[1]: no");
  CHECK(origins.problem("tokens[0].token", "no").line == 9);
  CHECK(origins.problem("tokens[1].token", "no").line == 10);
  CHECK(origins.has("tokens[1].token"));
  CHECK_FALSE(origins.has("spool.segment_bytes"));
}

TEST_CASE("Origins: a key that the file lacks is at what is above it, else at its first line") {
  const Origins origins = read(kFile);
  CHECK(origins.problem("spool.segment_bytes", "no").to_string() ==
        "a.yaml:2: spool.segment_bytes: no");
  CHECK(origins.problem("tokens[1].tenant", "no").line == 10);
  CHECK(origins.problem("data_dir", "no").to_string() == "a.yaml:1: data_dir: no");
  // A single string for a list.
  CHECK(read("\nrules: one\n").problem("rules[0]", "no").to_string() == "a.yaml:2: rules[0]: no");
}

TEST_CASE("Origins: the command line goes over the file, and without both it is the default") {
  Origins origins = read(kFile);
  origins.state("listen", "--listen");
  CHECK(origins.problem("listen", "no").to_string() == "command line: --listen: no");
  CHECK(Origins().problem("listen", "no").to_string() == "defaults: listen: no");
  Origins stated;
  stated.state("listen", "--listen");
  CHECK(stated.has("listen"));
  CHECK(stated.problem("listen", "no").to_string() == "command line: --listen: no");
}

TEST_CASE("Origins: an error keeps its code") {
  const Error error = read(kFile).error("listen", Error(ErrorCode::no_space, "port 1: no room"));
  CHECK(error.code() == ErrorCode::no_space);
  CHECK(error.message() == "a.yaml:1: listen: port 1: no room");
}

}  // namespace logarithm::config
