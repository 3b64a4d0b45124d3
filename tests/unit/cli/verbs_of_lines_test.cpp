#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/unit/cli/fake_api.h"

namespace logarithm::cli {

TEST_CASE("jobs: a table, or what the server answered") {
  Server server;
  const Outcome text = server.run({"jobs"});
  CHECK(text.status == kExitOk);
  CHECK(text.out.find("run7  ended  0,1") != std::string::npos);
  CHECK(text.out.find("2.0 KiB") != std::string::npos);
  CHECK(text.out.find("2026-11-30T04:33:29  1.0 KiB behind") != std::string::npos);
  CHECK(server.run({"jobs", "--output", "json"}).out.starts_with("{\"jobs\":[{\"job\":\"run7\""));
  CHECK(server.run({"jobs", "--output", "raw"}).out == "run7\n");
}

TEST_CASE("query: the newest lines in order of time, and a word about the rest") {
  Server server;
  const Outcome text = server.run(
      {"query", "run7", "{rank=\"1\"}", "--limit", "2", "--grep", "[a,b]", "--grep", "c"});
  CHECK(text.status == kExitOk);
  CHECK(text.out == "t two\nt one\n");  // the fake sends them in this order
  CHECK(text.err.find("there are more") != std::string::npos);
  CHECK(server.api.last.param("direction") == "backward");
  CHECK(server.api.last.param("query") == "{rank=\"1\"}");
  CHECK(server.api.last.param("limit") == "2");
  CHECK(server.api.last.param("grep") == "[a,b]");
  CHECK(server.run({"query", "run7", "--direction", "forward", "--output", "raw"}).out ==
        "one\ntwo\n");
}

TEST_CASE("query: the server's refusal exits 1 with its detail") {
  Server server;
  const Outcome outcome = server.run({"query", "run8"});
  CHECK(outcome.status == kExitFailure);
  CHECK(outcome.err.find("no such job: run8") != std::string::npos);
  CHECK(outcome.out.empty());
}

TEST_CASE("query: a refused token exits 1, a refused question 64") {
  Server server;
  CHECK(server.run({"query", "401"}).status == kExitFailure);
  CHECK(server.run({"query", "403"}).status == kExitFailure);
  CHECK(server.run({"query", "400"}).status == kExitUsage);
}

TEST_CASE("context: marks the line that was asked for") {
  Server server;
  const Outcome outcome = server.run({"context", "a.0:0", "-B", "2", "-A", "3", "--all-ranks"});
  CHECK(outcome.out == "> t one\n");
  CHECK(server.api.last.param("before") == "2");
  CHECK(server.api.last.param("after") == "3");
  CHECK(server.api.last.param("all_ranks") == "true");
}

TEST_CASE("export: all pages, and from a cursor the rest") {
  Server server;
  const Outcome all = server.run({"export", "run7"});
  CHECK(all.status == kExitOk);
  CHECK(std::count(all.out.begin(), all.out.end(), '\n') == 3);
  CHECK(all.out.find("\"end\"") == std::string::npos);
  const Outcome rest = server.run({"export", "run7", "--cursor", "c1"});
  CHECK(std::count(rest.out.begin(), rest.out.end(), '\n') == 1);
}

TEST_CASE("export: a limit ends it, over pages, and says how to go on") {
  Server server;
  const Outcome two = server.run({"export", "run7", "--limit", "2"});
  CHECK(two.status == kExitOk);
  CHECK(std::count(two.out.begin(), two.out.end(), '\n') == 2);
  CHECK(two.err == "logarithm: the limit of 2 lines reached, there are more: --cursor c1\n");
  CHECK(server.api.last.param("limit") == "2");
  CHECK(server.api.last.param("direction") == "forward");
  const Outcome three = server.run({"export", "run7", "--limit", "3"});
  CHECK(std::count(three.out.begin(), three.out.end(), '\n') == 3);
  CHECK(server.api.last.param("limit") == "1");
  CHECK(three.err.empty());
  const Outcome newest = server.run({"export", "run7", "--limit", "2", "--direction", "backward"});
  CHECK(server.api.last.param("direction") == "backward");
  CHECK(newest.err.find("--direction backward --cursor c1\n") != std::string::npos);
}

TEST_CASE("tail: a limit ends it, in the middle of a message too") {
  Server server;
  for (const auto& [limit, out] :
       {std::pair("3", "one\ntwo\none\n"), std::pair("2", "one\ntwo\n"), std::pair("1", "one\n")}) {
    const Outcome outcome =
        server.run({"tail", "run7", "--limit", limit, "--output", "raw", "--direction", "forward"});
    CHECK(outcome.status == kExitOk);
    CHECK(outcome.out == out);
    CHECK(outcome.err.empty());
  }
  CHECK(server.run({"tail", "run7", "--limit", "1", "--ids"}).out.find("a.0:0") !=
        std::string::npos);
  CHECK(server.api.last.param("job") == "run7");
  CHECK(!server.api.last.param("limit"));
}

TEST_CASE("export --output raw: exact bytes on stdout and in files; a gap exits 1") {
  Server server;
  const std::string bytes("ab\n\0\xff\n", 6);
  const Outcome whole = server.run({"export", "run7", "--rank", "1", "--output", "raw"});
  CHECK(whole.status == kExitOk);
  CHECK(whole.out == bytes);

  test::TempDir dir;
  const std::string file = dir.file("to/rank-1/stdout.log");
  const Words to_files{"export", "run7", "--output", "raw", "--to", dir.file("to")};
  CHECK(server.run(to_files).status == kExitOk);
  CHECK(read_file(file) == bytes);

  std::filesystem::remove(file);
  std::ofstream(file + ".part", std::ios::binary) << "ab\n";
  CHECK(server.run(to_files).status == kExitOk);
  CHECK(server.api.last.param("from") == "3");
  CHECK(read_file(file) == bytes);

  server.api.gaps = 1;
  const Outcome gap = server.run({"export", "run7", "--output", "raw"});
  CHECK(gap.status == kExitFailure);
  CHECK(gap.err.find("1 of 1 streams are not whole") != std::string::npos);
  CHECK(server.run({"export", "run7", "--rank", "5", "--output", "raw"}).status == kExitFailure);
}

}  // namespace logarithm::cli
