#include <doctest/doctest.h>

#include <fstream>

#include "aggregator/aggregator_config.h"
#include "aggregator/data_lock.h"
#include "tests/support/temp_dir.h"

namespace logarithm::aggregator {

TEST_CASE("AggregatorConfig: the example file equals the defaults") {
  AggregatorConfig config;
  config::Problems problems;
  REQUIRE(load_config(LGR_SOURCE_DIR "/config/aggregator.example.yaml", config, problems).ok());
  CHECK(config::to_string(problems) == "");
  CHECK(print_config(config) == print_config(AggregatorConfig()));
}

TEST_CASE("AggregatorConfig: every mistake is named with its line") {
  test::TempDir dir;
  const std::string file = dir.file("a.yaml");
  std::ofstream(file) << "listen: nowhere\nqueri:\n  deadline: 3s\nquery:\n  max_concurrent: 0\n";
  AggregatorConfig config;
  config::Problems problems;
  REQUIRE(load_config(file, config, problems).ok());
  CHECK(problems.size() >= 2);
  CHECK(!validate(config, file).empty());
}

TEST_CASE("AggregatorConfig: an address that others can reach needs a token") {
  AggregatorConfig config;
  for (const char* loopback : {"127.0.0.1:0", "localhost:7400", "[::1]:7400", "127.0.0.5:1"}) {
    config.listen = loopback;
    CHECK(validate(config, "f").empty());
  }
  for (const char* open : {"0.0.0.0:7400", "[::]:7400", "10.0.0.1:7400", "host:7400"}) {
    config.listen = open;
    config.tokens.clear();
    CHECK(validate(config, "f").size() == 1);
    config.tokens = {{"t", "default"}};
    CHECK(validate(config, "f").empty());
  }
  for (const char* bad :
       {"", ":7400", "7400", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "::1:5"}) {
    CAPTURE(bad);
    CHECK(!parse_listen(bad).ok());
  }
}

TEST_CASE("DataLock: a second holder is refused, and may come when the first has gone") {
  test::TempDir dir;
  {
    auto first = DataLock::take(dir.file("data"));
    REQUIRE(first.ok());
    auto second = DataLock::take(dir.file("data"));
    REQUIRE(!second.ok());
    CHECK(second.error().code() == ErrorCode::conflict);
  }
  CHECK(DataLock::take(dir.file("data")).ok());
}

}  // namespace logarithm::aggregator
