#include "cli/command_line.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "tests/unit/cli/fake_api.h"

namespace logarithm::cli {

TEST_CASE("command line: usage errors exit 64 and say what is wrong") {
  for (const Words& words :
       std::vector<Words>{{},
                          {"nonsense"},
                          {"query"},
                          {"query", "j", "--limit", "0"},
                          {"query", "j", "--direction", "up"},
                          {"query", "j", "--since", "soon"},
                          {"query", "j", "--unknown"},
                          {"series", "j"},
                          {"series", "j", "loss", "--buckets", "0"},
                          {"series", "j", "loss", "--plot", "--output", "json"},
                          {"callsites"},
                          {"callsites", "j", "--limit", "0"},
                          {"triage"},
                          {"triage", "j", "--attempt", "-1"},
                          {"triage", "--watch", "--files", "/"},
                          {"compare"},
                          {"compare", "j", "--all", "--ranks", "0,3"},
                          {"compare", "j", "--context", "-1"},
                          {"correlate", "j", "--first", "x"},
                          {"hide"},
                          {"hide", "j", "--noise"},
                          {"hide", "j", "name"},
                          {"hide", "j", "name", "--noise", "--delete"},
                          {"export", "j", "--output", "raw", "--hide", "x"},
                          {"--output", "xml", "jobs"},
                          {"--server", "h:1", "jobs"},
                          {"--server", "https://h", "jobs"},
                          {"context"},
                          {"import", "/"},
                          {"import", "--job", "j", "/nonexistent"},
                          {"import", "--job", "", "/"},
                          {"import", "--job", "bad\xff", "/"},
                          {"query", "--files", "/", "--job", std::string(2000, 'x')},
                          {"run", "--job", "bad\xff", "--", "true"},
                          {"query", "--files", "/nonexistent"},
                          {"export", "j", "--output", "raw", "--grep", "x"},
                          {"export", "j", "--output", "raw", "--rank", "x"},
                          {"export", "j", "--output", "json"},
                          // Nothing that is asked for is passed over.
                          {"export", "j", "--output", "text"},
                          {"export", "j", "--limit", "0"},
                          {"export", "j", "--direction", "up"},
                          {"export", "j", "--output", "raw", "--limit", "5"},
                          {"export", "j", "--output", "raw", "--direction", "forward"},
                          {"export", "j", "--output", "raw", "--cursor", "c"},
                          {"export", "j", "--to", "/nonexistent", "--limit", "5"},
                          {"export", "j", "--to", "/nonexistent", "--output", "ndjson"},
                          {"tail", "j", "--limit", "0"},
                          {"tail", "j", "--direction", "backward"},
                          {"tail", "j", "--limit", "5", "--output", "json"},
                          {"tail", "j", "--ids", "--output", "raw"},
                          {"query", "j", "--ids", "--output", "raw"},
                          {"context", "a.0:0", "--ids", "--output", "raw"},
                          {"callsites", "j", "--by-rank", "--output", "raw"},
                          {"compare", "j", "--consensus", "--output", "ndjson"},
                          {"compare", "j", "--consensus", "--output", "raw"},
                          {"compare", "j", "--consensus", "--first-only"},
                          {"series", "j", "loss", "--step", "5", "--buckets", "9"},
                          {"hide", "j", "name", "--noise", "--output", "json"}}) {
    std::string line;
    for (const std::string& word : words) line += word + " ";
    CAPTURE(line);
    const Outcome outcome = run(words);
    CHECK(outcome.status == kExitUsage);
    CHECK_FALSE(outcome.err.empty());
    CHECK(outcome.out.empty());
  }
}

TEST_CASE("command line: an output that the configuration states for all verbs stops none") {
  test::TempDir dir;
  std::ofstream(dir.file("c.yaml")) << "output: json\n";
  Server server;
  const auto with_file = [&](Words words) {
    words.insert(words.begin(), {"--config", dir.file("c.yaml")});
    return server.run(std::move(words));
  };
  CHECK(with_file({"jobs"}).out.starts_with("{\"jobs\":"));
  const Outcome lines = with_file({"export", "run7"});
  CHECK(lines.status == kExitOk);
  CHECK(std::count(lines.out.begin(), lines.out.end(), '\n') == 3);
  CHECK(with_file({"series", "run7", "loss", "--plot"}).out.find("└──") != std::string::npos);
  CHECK(with_file({"hide", "run7", "quiet", "--delete"}).status == kExitOk);
}

TEST_CASE("command line: a misspelt verb or option is named, with what was probably meant") {
  CHECK(run({"traige", "sample"}).err ==
        "logarithm: no such verb: traige (did you mean triage?)\n");
  CHECK(run({"query", "j", "--sevrity", "error"}).err ==
        "logarithm: no such option of query: --sevrity (did you mean --severity?)\n");
  CHECK(run({"jobs", "one", "two"}).err == "logarithm: unexpected argument: two\n");
}

TEST_CASE("command line: --help and --version exit 0 and name only verbs that work") {
  const Outcome help = run({"--help"});
  CHECK(help.status == kExitOk);
  for (const char* verb : {"jobs", "query", "context", "import", "export", "series", "callsites",
                           "triage", "compare", "correlate", "hide"}) {
    CHECK(help.out.find(verb) != std::string::npos);
  }
  CHECK(run({"query", "--help"}).out.find("--not-callsite") != std::string::npos);
  CHECK(run({"--version"}).out == "logarithm " LGR_VERSION "\n");
}

TEST_CASE("command line: a broken configuration exits 78, a good one is shown") {
  test::TempDir dir;
  std::ofstream(dir.file("bad.yaml")) << "server: nowhere\n";
  std::ofstream(dir.file("good.yaml")) << "server: http://h:1\n";

  const Outcome bad = run({"--config", dir.file("bad.yaml"), "--check-config"});
  CHECK(bad.status == kExitConfig);
  CHECK(bad.err.find("bad.yaml:1: server: ") != std::string::npos);
  CHECK(run({"--config", dir.file("none.yaml"), "jobs"}).status == kExitConfig);
  const Outcome good = run({"--config", dir.file("good.yaml"), "--check-config"});
  CHECK(good.status == kExitOk);
  CHECK(good.out.find("server: \"http://h:1\"") != std::string::npos);
  const Outcome flag =
      run({"--config", dir.file("good.yaml"), "--server", "http://flag:2", "--check-config"});
  CHECK(flag.out.find("server: \"http://flag:2\"") != std::string::npos);
}

TEST_CASE("command line: a server that is not there exits 1 and names it") {
  const Outcome outcome = run({"--server", "http://127.0.0.1:1", "jobs"});
  CHECK(outcome.status == kExitFailure);
  CHECK(outcome.err.find("127.0.0.1:1") != std::string::npos);
  CHECK(outcome.err.find("LOGARITHM_SERVER") != std::string::npos);
}

}  // namespace logarithm::cli
