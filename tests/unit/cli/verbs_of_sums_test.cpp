#include <doctest/doctest.h>

#include <string>

#include "tests/unit/cli/fake_api.h"

namespace logarithm::cli {

TEST_CASE("series: a table, a plot, or what the server answered, and a word when incomplete") {
  Server server;
  const Outcome text = server.run({"series", "run7", "loss", "--rank", "1", "--iteration", "5.."});
  CHECK(text.status == kExitOk);
  CHECK(text.out.find("    1         60       1    0  0.5   0.5  0.5   0.5\n") !=
        std::string::npos);
  CHECK(text.err.find("2 bytes pending") != std::string::npos);
  CHECK(server.api.last.param("metric") == "loss");
  CHECK(server.api.last.param("rank") == "1");
  CHECK(server.api.last.param("buckets") == "20");
  const Outcome json = server.run({"series", "run7", "loss", "{rank=\"1\"}", "--output", "json"});
  CHECK(json.out.starts_with("{\"step\":1,\"points\":1"));
  CHECK(!server.api.last.param("buckets"));
  CHECK(server.api.last.param("query") == "{rank=\"1\"}");
  const Outcome plot = server.run({"series", "run7", "loss", "--plot", "--step", "5"});
  CHECK(plot.out.find("└──") != std::string::npos);
  CHECK(server.api.last.param("buckets") == "160");
  CHECK(server.api.last.param("step") == "5");
}

TEST_CASE("callsites: who prints how much, and how many more there are") {
  Server server;
  const Outcome text = server.run({"callsites", "run7", "--severity", "error"});
  CHECK(text.status == kExitOk);
  CHECK(text.out.find("2.0 KiB  50.0%  3 of 4; not 3") != std::string::npos);
  CHECK(text.out.find("00ff  step <*>") != std::string::npos);
  CHECK(text.err.find("1 more, 2 lines, 3 B") != std::string::npos);
  CHECK(server.api.last.param("severity") == "error");
  CHECK(server.run({"callsites", "run7", "--output", "raw"}).out ==
        "train.py:88\n00ff  step <*>\n");
  CHECK(server.run({"callsites", "run7", "--by-rank"}).out.find("   10  2.0 KiB     0") !=
        std::string::npos);
}

TEST_CASE("triage: the sentence, what it rests on, and the line to look at") {
  Server server;
  const Outcome text = server.run({"triage", "run7", "--attempt", "1"});
  CHECK(text.status == kExitOk);
  CHECK(server.api.last.param("attempt") == "1");
  for (const char* part :
       {"job run7, attempt 1: failed, exception\nRank 2 broke.\n", "rank 2 on n1, iteration 70",
        "certain: 12.4 ms before the next one, times known to ± 3 ms", "3 ranks: 0-1,3",
        "rank 3, 5 ms late", "xid T code 79",
        "root (0.95): rank 2 named a cause\n    ValueError: x",
        // Where it was asked: the line is to be found by what is printed.
        "logarithm --server http://127.0.0.1:", " context ab.0:7"}) {
    CAPTURE(part);
    CHECK(text.out.find(part) != std::string::npos);
  }
  CHECK(text.out.find('\x1b') == std::string::npos);
  CHECK(text.err.find("2 bytes pending") != std::string::npos);
  CHECK(server.run({"triage", "run7", "--output", "raw"}).out == "Rank 2 broke.\n");
}

TEST_CASE("compare: departures as a table, two ranks side by side, the verdict on stderr") {
  Server server;
  const Outcome verdict = server.run({"compare", "run7", "--peers", "0-3;4-7"});
  CHECK(verdict.status == kExitOk);
  CHECK(verdict.out.find("6  30-39 (10)  value  loss 2.5, peers 2.4  step 30 loss 2.5") !=
        std::string::npos);
  CHECK(verdict.out.find("5  17          extra  retry") != std::string::npos);
  CHECK(
      verdict.err ==
      "logarithm: ranks 0-7: rank 6, at iteration 30, departs most; the first departure is rank 5, "
      "at iteration 17; 3 more not shown\n");
  CHECK(server.api.last.param("peers") == "0-3;4-7");
  CHECK(server.run({"compare", "run7", "--consensus"}).out.find("step <*>") != std::string::npos);
  const Outcome pair = server.run({"compare", "run7", "--ranks", "0,3"});
  CHECK(pair.out.find("... 12 rows the same\n") != std::string::npos);
  CHECK(pair.out.find("> only there\n") != std::string::npos);
  CHECK(pair.err == "logarithm: ranks 0,3: no departures\n");
  CHECK(server.run({"compare", "run7", "--output", "raw"}).out ==
        "30\tvalue\t6\tstep 30 loss 2.5\n17\textra\t5\tretry\n");
  server.run({"compare", "run7", "--against-attempt", "1", "--against-job", "j2", "--first-only"});
  CHECK(server.api.last.param("against_attempt") == "1");
  CHECK(server.api.last.param("against_job") == "j2");
  CHECK(server.api.last.param("first") == "true");
}

TEST_CASE("correlate: pairs with their distance") {
  Server server;
  const Outcome pairs = server.run(
      {"correlate", "run7", "--first", "|= \"a\"", "--then", "| x > 1", "--within", "2i"});
  CHECK(pairs.status == kExitOk);
  CHECK(pairs.out.find("   5         17  1i 0.500s  a      b") != std::string::npos);
  CHECK(pairs.err == "logarithm: 1 pairs of 2 first and 3 second lines\n");
  CHECK(server.api.last.param("first") == "|= \"a\"");
  CHECK(server.api.last.param("within") == "2i");
}

TEST_CASE("hide: saves, shows and forgets lists of what to leave out") {
  Server server;
  CHECK(server.run({"hide", "run7"}).out.find("quiet  job    a.py:1") != std::string::npos);
  CHECK(server.run({"hide", "run7", "quiet", "--callsite", "b.py:2", "--text", "x y"}).status ==
        kExitOk);
  CHECK(server.api.last.method == "PUT");
  CHECK(server.api.last.body == R"({"callsites":["b.py:2"],"name":"quiet","texts":["x y"]})");
  CHECK(server.run({"hide", "run7", "quiet", "--delete"}).status == kExitOk);
  CHECK(server.api.last.method == "DELETE");
  CHECK(server.api.last.param("name") == "quiet");
  CHECK(server.run({"hide", "run7", "quiet", "--noise"}).status == kExitFailure);
  server.run({"hide", "run7", "--all-jobs"});
  CHECK(server.api.last.path == "/api/v1/suppressions");
  server.run({"query", "run7", "--hide", "quiet"});
  CHECK(server.api.last.param("suppress") == "quiet");
}

}  // namespace logarithm::cli
