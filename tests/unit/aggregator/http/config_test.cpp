#include <doctest/doctest.h>

#include <fstream>

#include "aggregator/aggregator_config.h"
#include "aggregator/app.h"
#include "aggregator/data_lock.h"
#include "aggregator/settings.h"
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
  const auto more = validate(config);
  REQUIRE(more.size() == 1);
  CHECK(more[0].to_string().find(file + ":1: listen: not host:port: nowhere (write") == 0);
}

TEST_CASE("AggregatorConfig: an address that others can reach needs a token") {
  AggregatorConfig config;
  for (const char* loopback : {"127.0.0.1:0", "localhost:7400", "[::1]:7400", "127.0.0.5:1"}) {
    config.listen = loopback;
    CHECK(validate(config).empty());
  }
  for (const char* open : {"0.0.0.0:7400", "[::]:7400", "10.0.0.1:7400"}) {
    config.listen = open;
    config.tokens.clear();
    CHECK(validate(config).size() == 1);
    config.tokens = {{"t", "default"}};
    CHECK(validate(config).empty());
  }
  // Of a host's name nobody could listen: it has to be refused before the start, not by it.
  for (const char* bad :
       {"", ":7400", "7400", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "::1:5", "host:7400"}) {
    CAPTURE(bad);
    config.listen = bad;
    CHECK(validate(config).size() == 1);
  }
}

TEST_CASE("AggregatorConfig: what is wrong with the whole is told where it was given") {
  test::TempDir dir;
  CommandLine line;
  line.config = dir.file("a.yaml");
  std::ofstream(line.config) << "tokens:\n  - token: t\n  - tenant: x\n    token: t\n"
                                "data_dir: ''\nready_file: /no/such/place/ready\n"
                                "listen: 127.0.0.1:99999\n";
  config::Problems problems;
  REQUIRE(load_settings(line, problems).ok());
  std::string text = config::to_string(problems);
  CAPTURE(text);
  for (const char* told :
       {":4: tokens[1].token: is that of tokens[0], too", ":5: data_dir: must not be empty",
        ":6: ready_file: there is no directory /no/such/place: create it",
        ":7: listen: port 99999 is not from 0 to 65535"}) {
    CAPTURE(told);
    CHECK(text.find(line.config + told) != std::string::npos);
  }
  CHECK(problems.size() == 4);

  line.listen = "somewhere";
  line.data_dir = dir.file("data");
  line.ready_file = dir.file("none/ready");
  problems.clear();
  REQUIRE(load_settings(line, problems).ok());
  text = config::to_string(problems);
  CHECK(text.find("command line: --listen: not host:port: somewhere") != std::string::npos);
  CHECK(text.find("command line: --ready-file: there is no directory") != std::string::npos);
  CHECK(text.find("data_dir") == std::string::npos);
}

TEST_CASE("AggregatorConfig: a start that fails names the key and the line of what it needs") {
  test::TempDir dir;
  CommandLine line;
  line.config = dir.file("a.yaml");
  std::ofstream(dir.file("plain")) << "a file, no directory\n";
  std::ofstream(line.config) << "listen: 127.0.0.1:0\ndata_dir: " << dir.file("plain/data") << "\n";
  config::Problems problems;
  auto config = load_settings(line, problems);
  REQUIRE(config.ok());
  CHECK(problems.empty());
  const auto app = App::make(std::move(*config), {});
  REQUIRE(!app.ok());
  CHECK(app.error().message().find(line.config + ":2: data_dir: create ") == 0);
}

TEST_CASE("AggregatorConfig: retention and what else a reload takes are read and printed") {
  test::TempDir dir;
  const std::string file = dir.file("a.yaml");
  std::ofstream(file) << "retention: {max_age: 30d, max_bytes: 1GiB, min_free: 5GiB}\n"
                         "store: {part_age: 1d}\nlog_level: warning\n";
  AggregatorConfig config;
  config::Problems problems;
  REQUIRE(load_config(file, config, problems).ok());
  CHECK(config::to_string(problems) == "");
  CHECK(config.retention.max_age == std::chrono::hours(24 * 30));
  CHECK(config.retention.max_bytes == 1ull << 30);
  CHECK(config.store.part_age == std::chrono::hours(24));
  std::ofstream(file) << print_config(config);
  AggregatorConfig again;
  REQUIRE(load_config(file, again, problems).ok());
  CHECK(config::to_string(problems) == "");
  CHECK(print_config(again) == print_config(config));
}

TEST_CASE("Reload: any mistake of the aggregator's file is an error with all of them") {
  test::TempDir dir;
  CommandLine line;
  line.config = dir.file("a.yaml");
  CHECK(!reload_settings(line).ok());  // gone
  std::ofstream(line.config) << "query: {deadline: soon}\nstray: 1\n";
  const auto refused = reload_settings(line);
  REQUIRE(!refused.ok());
  CHECK(refused.error().message().find("deadline") != std::string::npos);
  CHECK(refused.error().message().find("stray") != std::string::npos);
  config::ReloadState state;
  state.note(Status(refused.error()), {});
  CHECK(state.failed == 1);
  CHECK(state.problems.size() == 2);
  std::ofstream(line.config) << "query: {deadline: 3s}\nlisten: 127.0.0.1:9\n";
  const auto good = reload_settings(line);
  REQUIRE(good.ok());
  CHECK(needs_restart(AggregatorConfig(), *good) == std::vector<std::string>{"listen"});
  state.note(Status(), {"listen"});
  CHECK(!state.last_failed);
  CHECK(state.problems.empty());
  CHECK(state.needs_restart == std::vector<std::string>{"listen"});
  line.listen = "127.0.0.1:7400";  // the command line goes over the file
  CHECK(needs_restart(AggregatorConfig(), *reload_settings(line)).empty());
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
