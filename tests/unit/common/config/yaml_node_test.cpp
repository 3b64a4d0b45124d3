#include "common/config/yaml_node.h"

#include <doctest/doctest.h>

#include <fstream>

#include "common/config/units.h"
#include "tests/support/temp_dir.h"

namespace logarithm::config {
namespace {

YamlDocument parse(const std::string& text) {
  auto document = YamlDocument::parse("a.yaml", text);
  REQUIRE(document.ok());
  return std::move(*document);
}

}  // namespace

TEST_CASE("YamlNode: getters read their types") {
  auto document = parse(
      "name: x\nport: 7400\nratio: 0.5\non: true\nwait: 250ms\nroom: 64MiB\n"
      "globs: [a, b]\none: c\nmode: fast\nlabels: {k: v, n: 2}\nnested: {deep: {key: 1h}}\n"
      "files:\n- glob: p\n- glob: q\n");
  YamlNode root = document.root();

  CHECK(root.string("name", "") == "x");
  CHECK(root.integer("port", 0, 0, 65535) == 7400);
  CHECK(root.number("ratio", 0) == 0.5);
  CHECK(root.boolean("on", false));
  CHECK(root.duration("wait", {}) == std::chrono::milliseconds(250));
  CHECK(root.size("room", 0) == 64u << 20);
  CHECK(root.strings("globs") == std::vector<std::string>{"a", "b"});
  CHECK(root.strings("one") == std::vector<std::string>{"c"});
  CHECK(root.choice("mode", "slow", {"slow", "fast"}) == "fast");
  CHECK(root.string_map("labels").at(1).second == "2");
  CHECK(root.child("nested").child("deep").duration("key", {}) == std::chrono::hours(1));
  REQUIRE(root.list("files").size() == 2);
  CHECK(root.list("files")[1].required("glob") == "q");
  CHECK(root.list("files")[0].required("glob") == "p");
  root.finish();
  CHECK(to_string(document.problems()) == "");
}

TEST_CASE("YamlNode: what is absent gives the default and no problem") {
  auto document = parse("empty:\n");
  YamlNode root = document.root();

  CHECK(root.string("name", "d") == "d");
  CHECK(root.child("none").child("deeper").integer("n", 7) == 7);
  CHECK(root.list("empty").empty());
  CHECK(root.child("empty").size("x", 5) == 5);
  CHECK(root.strings("empty", {"z"}) == std::vector<std::string>{"z"});
  root.finish();
  CHECK(document.problems().empty());
}

TEST_CASE("YamlNode: every problem is collected with file, line and path") {
  auto document = parse(
      "port: 99999\nwait: 10\non: yes\nspool:\n  max_bytes: 1KiB\n  max_byte: 2\nfiles:\n- globb: "
      "x\n"
      "name: [1]\nport: 1\nnull_one:\n");
  YamlNode root = document.root();

  CHECK(root.integer("port", 5, 0, 65535) == 5);
  CHECK(root.duration("wait", std::chrono::seconds(1)) == std::chrono::seconds(1));
  CHECK_FALSE(root.boolean("on", false));
  CHECK(root.child("spool").size("max_bytes", 9, 1 << 20) == 9);
  CHECK(root.list("files")[0].required("glob").empty());
  CHECK(root.string("name", "d") == "d");
  CHECK(root.string("null_one", "e") == "e");
  root.finish();
  root.finish();

  CHECK(
      to_string(document.problems()) ==
      "a.yaml:10: 'port' is given twice\n"
      "a.yaml:1: port: must be at most 65535\n"
      "a.yaml:2: wait: '10' is not a duration: write a whole number and a unit (ns, us, ms, s, m, "
      "h, d), as in 10s or 1h30m\n"
      "a.yaml:3: on: 'yes' is neither true nor false\n"
      "a.yaml:5: spool.max_bytes: must be at least 1MiB\n"
      "a.yaml:8: files[0]: needs 'glob'\n"
      "a.yaml:9: name: must be a single value\n"
      "a.yaml:11: null_one: has no value\n"
      "a.yaml:8: files[0].globb: unknown key (did you mean 'glob'?)\n"
      "a.yaml:6: spool.max_byte: unknown key (did you mean 'max_bytes'?)\n");
}

TEST_CASE("YamlNode: the wrong kind of node is one problem, not one for each key") {
  auto document = parse("spool: 5\nfiles: {a: 1}\n");
  YamlNode root = document.root();

  root.child("spool").size("a", 0);
  root.child("spool").size("b", 0);
  CHECK(root.list("files").empty());

  CHECK(to_string(document.problems()) ==
        "a.yaml:1: spool: must be a map (key: value)\n"
        "a.yaml:2: files: must be a list\n");
}

TEST_CASE("YamlNode: the caller's own problems carry the line of the key") {
  auto document = parse("a: 1\nb: bad\n");

  document.root().problem_at("b", "no such zone");

  CHECK(document.problems().at(0).to_string() == "a.yaml:2: b: no such zone");
}

TEST_CASE("YamlDocument: text that is not YAML is an error that names file and line") {
  auto document = YamlDocument::parse("b.yaml", "a: 1\nb: [1, 2\nc: }\n");

  REQUIRE_FALSE(document.ok());
  CHECK(document.error().code() == ErrorCode::invalid);
  CHECK(document.error().message().starts_with("b.yaml:"));
}

TEST_CASE("YamlDocument: nesting without end is an error, not a crash") {
  auto document = YamlDocument::parse("deep.yaml", std::string(100'000, '['));

  CHECK_FALSE(document.ok());
}

TEST_CASE("YamlDocument: a file is read, and a missing one is not_found") {
  test::TempDir dir;
  std::ofstream(dir.file("c.yaml")) << "name: y\n";

  auto document = YamlDocument::load_file(dir.file("c.yaml"));
  REQUIRE(document.ok());
  CHECK(document->root().string("name", "") == "y");
  auto missing = YamlDocument::load_file(dir.file("none.yaml"));
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code() == ErrorCode::not_found);
  CHECK(YamlDocument::parse("empty", "")->root().string("x", "d") == "d");
}

TEST_CASE("yaml_quote: what is quoted reads back as it was") {
  for (const std::string text : {"plain", "a \"b\" \\c", "x: [1]", "tab\there\nline", "ü", "#no"}) {
    CAPTURE(text);
    auto document = parse("k: " + yaml_quote(text) + "\n");
    CHECK(document.root().string("k", "") == text);
  }
}

}  // namespace logarithm::config
