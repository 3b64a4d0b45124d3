#include "cli/options.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/support/temp_dir.h"

namespace logarithm::cli {

TEST_CASE("load_config: reads what is there and keeps the rest") {
  test::TempDir dir;
  std::ofstream(dir.file("c.yaml")) << "server: http://h:1\noutput: ndjson\n";
  Options options;

  auto problems = load_config(dir.file("c.yaml"), options);

  REQUIRE(problems.ok());
  CHECK(problems->empty());
  CHECK(options.server == "http://h:1");
  CHECK(options.output == "ndjson");
  CHECK(options.token.empty());
}

TEST_CASE("load_config: every wrong value is a problem with its line") {
  test::TempDir dir;
  std::ofstream(dir.file("c.yaml")) << "server: h:1\noutput: xml\nservr: x\n";
  Options options;

  auto problems = load_config(dir.file("c.yaml"), options);

  REQUIRE(problems.ok());
  REQUIRE(problems->size() == 3);
  const std::string text = config::to_string(*problems);
  CHECK(text.find(":1: server: ") != std::string::npos);
  CHECK(text.find(":2: output: 'xml' is not one of") != std::string::npos);
  CHECK(text.find(":3: servr: unknown key (did you mean 'server'?)") != std::string::npos);
}

TEST_CASE("load_config: a server that is no http:// URL is a mistake of the file") {
  test::TempDir dir;
  for (const char* server : {"ws://h:1", "https://h:1", "h:1"}) {
    CAPTURE(server);
    std::ofstream(dir.file("c.yaml")) << "token: t\nserver: " << server << "\n";
    Options options;
    auto problems = load_config(dir.file("c.yaml"), options);
    REQUIRE(problems.ok());
    REQUIRE(problems->size() == 1);
    CHECK(problems->front().line == 2);
    CHECK(problems->front().path == "server");
  }
}

TEST_CASE("describe: does not show the token") {
  Options options;
  options.token = "secret";
  CHECK(describe(options).find("secret") == std::string::npos);
}

}  // namespace logarithm::cli
