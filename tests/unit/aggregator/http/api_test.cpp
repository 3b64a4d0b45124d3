#include "aggregator/http/api.h"

#include <doctest/doctest.h>

#include "tests/unit/aggregator/http/api_fixture.h"

namespace logarithm::aggregator {
namespace {

using Answer = ApiAnswer;
using Fixture = ApiFixture;

const std::string kLines = "/api/v1/jobs/a/b/lines";

}  // namespace

TEST_CASE("Api: a page of lines has the contract's fields, newest first") {
  Fixture f;
  const Answer answer = f.get(kLines, {{"limit", "2"}});
  REQUIRE(answer.status == 200);
  const json page = answer.parsed();
  REQUIRE(page["lines"].size() == 2);
  const json& line = page["lines"][0];
  CHECK(line["text"] == "line 24");
  CHECK(line["rank"] == 2);
  CHECK(line["iteration"] == 24);
  CHECK(line["job"] == "a/b");
  CHECK(line["host"] == "n1");
  CHECK(line["stream"] == "stdout");
  CHECK(line["time"] == "1970-01-01T00:00:00.000001008Z");
  CHECK(line["flags"].is_array());
  CHECK(!line.contains("severity"));
  CHECK(page["completeness"]["complete"] == true);
  CHECK(page["completeness"]["streams"]["total"] == 1);
  CHECK(page["next"].is_string());
}

TEST_CASE("Api: bytes, NaN and big integers arrive as the contract says") {
  Fixture f;
  const json page = f.get(kLines, {{"query", "| loss == NaN"}}).parsed();
  REQUIRE(page["lines"].size() == 1);
  CHECK(page["lines"][0]["text"] == "bad \xEF\xBF\xBD\x01 \"text\"");
  CHECK(page["lines"][0]["meta"]["loss"] == "NaN");
  CHECK(page["lines"][0]["meta"]["big"] == json::array({"1152921504606846976", 0.5}));
  CHECK(page["next"].is_null());
}

TEST_CASE("Api: pages by cursor union to all lines, in both directions") {
  Fixture f;
  for (const char* direction : {"forward", "backward"}) {
    std::vector<std::string> ids;
    std::string cursor;
    for (int pages = 0; pages < 20; ++pages) {
      std::vector<std::pair<std::string, std::string>> query = {{"limit", "4"},
                                                                {"direction", direction}};
      if (!cursor.empty()) query.emplace_back("cursor", cursor);
      const json page = f.get(kLines, query).parsed();
      for (const json& line : page["lines"]) ids.push_back(line["id"]);
      if (page["next"].is_null()) break;
      cursor = page["next"];
    }
    CHECK(ids.size() == 25);
    std::sort(ids.begin(), ids.end());
    CHECK(std::unique(ids.begin(), ids.end()) == ids.end());
  }
}

TEST_CASE("Api: NDJSON streams all lines and ends with a record that says so") {
  Fixture f;
  const Answer answer =
      f.get(kLines, {{"direction", "forward"}}, {{"Accept", "application/x-ndjson"}});
  CHECK(answer.type == "application/x-ndjson");
  std::vector<json> records;
  std::size_t at = 0;
  while (at < answer.body.size()) {
    const std::size_t end = answer.body.find('\n', at);
    records.push_back(json::parse(answer.body.substr(at, end - at)));
    at = end + 1;
  }
  REQUIRE(records.size() == 26);
  CHECK(records[0]["text"] == "line 0");
  CHECK(records[25]["end"]["next"].is_null());
  CHECK(records[25]["end"]["completeness"]["complete"] == true);
}

TEST_CASE("Api: what is wrong with a request is named, with its status") {
  Fixture f;
  struct Case {
    std::string path;
    std::vector<std::pair<std::string, std::string>> query;
    int status;
  };
  const std::vector<Case> kCases = {
      {"/api/v1/jobs/none/lines", {}, 404},
      {"/api/v1/jobs/none", {}, 404},
      {"/nowhere", {}, 404},
      {kLines, {{"grep", "("}}, 400},
      {kLines, {{"query", "{rank=2}"}}, 400},
      {kLines, {{"cursor", "xyz"}}, 400},
      {kLines, {{"rankk", "2"}}, 400},
      {kLines, {{"limit", "10001"}}, 400},
      {kLines, {{"limit", "0"}}, 400},
      {kLines, {{"direction", "up"}}, 400},
      {"/api/v1/jobs/a/b/count", {{"limit", "1"}}, 400},
      {"/api/v1/context", {}, 400},
      {"/api/v1/context", {{"id", "00000000000000010000000000000002.0:1"}}, 404},
      {"/api/v1/jobs/a/b/raw", {{"stream_id", "00000000000000010000000000000002.9"}}, 404},
  };
  for (const Case& c : kCases) {
    CAPTURE(c.path);
    const Answer answer = f.get(c.path, c.query);
    CHECK(answer.status == c.status);
    CHECK(answer.type == "application/problem+json");
    const json problem = answer.parsed();
    CHECK(problem["status"] == c.status);
    CHECK(problem["title"].is_string());
    CHECK(problem["detail"].is_string());
  }
  CHECK(f.get(kLines, {{"query", "{rank=2}"}}).parsed()["position"] == 6);
  const std::string detail = f.get(kLines, {{"rankk", "2"}}).parsed()["detail"];
  CHECK(detail.find("\"rank\"") != std::string::npos);
}

TEST_CASE("Api: a cursor of another query is refused") {
  Fixture f;
  const json page = f.get(kLines, {{"limit", "2"}}).parsed();
  const std::string cursor = page["next"];
  CHECK(f.get(kLines, {{"limit", "2"}, {"cursor", cursor}}).status == 200);
  CHECK(f.get(kLines, {{"rank", "2"}, {"cursor", cursor}}).status == 400);
  CHECK(f.get(kLines, {{"direction", "forward"}, {"cursor", cursor}}).status == 400);
}

TEST_CASE("Api: case 80, over the deadline is 504, over the cap 503, without a token 401") {
  Fixture f;
  f.options.deadline = std::chrono::nanoseconds(0);
  CHECK(f.get(kLines).status == 504);
  f.options.deadline = std::chrono::seconds(30);
  f.options.max_concurrent = 0;
  const Answer busy = f.get(kLines);
  CHECK(busy.status == 503);
  CHECK(net::find_header(busy.headers, "Retry-After").has_value());
  for (const char* light :
       {"/api/v1/jobs", "/api/v1/jobs/a/b", "/api/v1/jobs/a/b/streams",
        "/api/v1/jobs/a/b/processes", "/api/v1/status", "/metrics", "/healthz"}) {
    CAPTURE(light);
    CHECK(f.get(light).status == 200);
  }
  f.options.max_concurrent = 1;
  f.tokens = {{"secret", "default"}};
  CHECK(f.get(kLines).status == 401);
  CHECK(f.get(kLines, {}, {{"Authorization", "Bearer wrong"}}).status == 401);
  CHECK(f.get(kLines, {}, {{"Authorization", "Bearer secret"}}).status == 200);
  CHECK(f.get(kLines, {}, {{"Authorization", "bearer secret"}}).status == 200);
  CHECK(f.get(kLines, {}, {{"Authorization", "secret"}}).status == 401);
  CHECK(f.get("/healthz").status == 200);
}

TEST_CASE("QueryRunner: case 80, an answer whose client stalls loses its place to one that asks") {
  Fixture f;
  test::ManualClock clock;
  QueryOptions options;
  options.max_concurrent = 2;
  QueryRunner queries(f.pool, clock, options);
  auto working = queries.try_admit();
  auto stalled = queries.try_admit();
  stalled->give_up = [&] { stalled.reset(); };
  CHECK(queries.try_admit() == nullptr);
  stalled->waiting_since = clock.now();
  boost::asio::io_context io;
  clock.advance(io, options.patience / 2);
  CHECK(queries.try_admit() == nullptr);
  clock.advance(io, options.patience);
  auto next = queries.try_admit();
  CHECK(next != nullptr);
  CHECK(stalled == nullptr);
  CHECK(queries.running() == 2);
  CHECK(queries.evicted() == 1);
  CHECK(queries.try_admit() == nullptr);
}

TEST_CASE("Api: count, jobs, streams, processes, status and metrics answer") {
  Fixture f;
  CHECK(f.get("/api/v1/jobs/a/b/count", {{"iteration", "20.."}}).parsed()["count"] == 5);
  const json jobs = f.get("/api/v1/jobs").parsed();
  CHECK(jobs["jobs"][0]["job"] == "a/b");
  CHECK(jobs["jobs"][0]["ranks"] == "0-2,5");
  CHECK(f.get("/api/v1/jobs/a/b").parsed()["jobs"].size() == 1);
  const json streams = f.get("/api/v1/jobs/a/b/streams").parsed();
  CHECK(streams["streams"][0]["id"] == "00000000000000010000000000000002.0");
  CHECK(streams["streams"][0]["pending"] == "0");
  CHECK(f.get("/api/v1/jobs/a/b/streams", {{"rank", "7"}}).parsed()["streams"].empty());
  CHECK(f.get("/api/v1/jobs/a/b/processes").parsed()["processes"].empty());
  CHECK(f.get("/api/v1/status").parsed()["agents"].is_array());
  CHECK(f.get("/metrics").body.find("logarithm_aggregator_query_seconds_count") !=
        std::string::npos);
}

TEST_CASE("Api: case 103, context is the lines around a line of its stream, filters off") {
  Fixture f;
  const json page = f.get(kLines, {{"grep", "line 10$"}}).parsed();
  const std::string id = page["lines"][0]["id"];
  for (const char* all_ranks : {"false", "true"}) {
    const json around =
        f.get("/api/v1/context",
              {{"id", id}, {"before", "2"}, {"after", "3"}, {"all_ranks", all_ranks}})
            .parsed();
    REQUIRE(around["lines"].size() == 6);
    CHECK(around["lines"][0]["text"] == "line 8");
    CHECK(around["lines"][5]["text"] == "line 13");
  }
}

TEST_CASE("Api: raw gives a stream's exact bytes") {
  Fixture f;
  const Answer answer =
      f.get("/api/v1/jobs/a/b/raw", {{"stream_id", "00000000000000010000000000000002.0"}});
  CHECK(answer.status == 200);
  CHECK(answer.type == "application/octet-stream");
  CHECK(answer.body.starts_with("line 0\nline 1\nline 2\nbad \xFF\x01 \"text\"\nline 4\n"));
  CHECK(*net::find_header(answer.headers, "X-Logarithm-Gaps") == "0");
}

TEST_CASE("Api: raw puts the pieces of joined lines where they lay in the file") {
  Fixture f;
  Line joined = test::make_line(0, 1000, "a1\na2");
  joined.extents = {{0, 3, 0}, {6, 3, 0}};
  joined.length = 9;
  const Line between = test::make_line(3, 1000, "b1");
  const StreamId stream{StreamBase{3, 4}, 0};
  StreamAttributes attributes;
  attributes.job = "a/b";
  const std::size_t index = f.job->add_stream(stream, {attributes});
  f.job->add_block(index, 0, {joined, between});
  const Answer answer =
      f.get("/api/v1/jobs/a/b/raw", {{"stream_id", "00000000000000030000000000000004.0"}});
  CHECK(answer.body == "a1\nb1\na2\n");
}

}  // namespace logarithm::aggregator
