// The endpoints that answer with sums of lines: histogram, fields, callsites, telemetry.
#include <doctest/doctest.h>

#include <limits>
#include <set>

#include "tests/unit/aggregator/http/api_fixture.h"

namespace logarithm::aggregator {
namespace {

const std::string kJob = "/api/v1/jobs/a/b";

// Two ranks with a loss an iteration, rank 1 NaN from iteration 6 on; in a job of its own.
struct TrainingFixture : ApiFixture {
  std::shared_ptr<test::FakeJob> training = storage.add("run");

  TrainingFixture() {
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      StreamAttributes attributes;
      attributes.job = "run";
      attributes.name = "stdout";
      attributes.host = "n1";
      attributes.rank = rank;
      attributes.rank_source = "RANK";
      attributes.attempt = 1;
      const StreamId id{StreamBase{9, static_cast<std::uint64_t>(rank)}, 0};
      const std::size_t index = training->add_stream(id, {attributes});
      std::vector<Line> lines;
      std::uint64_t offset = 0;
      for (int i = 0; i < 10; ++i) {
        lines.push_back(test::make_line(offset, UnixNanos{1'000'000'000} * (i + 1),
                                        "step " + std::to_string(i)));
        Line& line = lines.back();
        offset = line.end();
        line.iteration = i;
        line.severity = i == 9 ? Severity::error : Severity::info;
        if (i % 2 == 0) line.callsite = "train.py:88";
        const bool diverged = rank == 1 && i >= 6;
        line.meta.push_back(
            {"loss", diverged ? std::numeric_limits<double>::quiet_NaN() : 10.0 - i, true});
        line.meta.push_back({"phase", std::string("warm"), false});
      }
      training->add_block(index, 0, lines);
      training->facts()[index].closed = wire::Closed{id, "run", offset, "exited"};
      training->facts()[index].first_time = lines.front().time;
      training->facts()[index].last_time = lines.back().time;
      training->facts()[index].last_iteration = 9;
    }
  }
  json run(const std::string& what, std::vector<std::pair<std::string, std::string>> query) {
    const ApiAnswer answer = get("/api/v1/jobs/run/" + what, std::move(query));
    INFO(answer.body);
    REQUIRE(answer.status == 200);
    CHECK(answer.parsed()["completeness"]["complete"] == true);
    return answer.parsed();
  }
};

}  // namespace

TEST_CASE("Api: a histogram counts by each field, with the filters of lines") {
  TrainingFixture f;
  const json by_rank = f.run("histogram", {{"by", "rank"}});
  CHECK(by_rank["buckets"] == json::parse(R"([{"key":0,"count":10},{"key":1,"count":10}])"));
  CHECK(by_rank["count"] == 20);
  CHECK(by_rank["other"] == 0);
  CHECK(f.run("histogram", {{"by", "severity"}, {"rank", "1"}})["buckets"] ==
        json::parse(R"([{"key":"info","count":9},{"key":"error","count":1}])"));
  CHECK(f.run("histogram", {{"by", "iteration"}, {"step", "4"}})["buckets"] ==
        json::parse(R"([{"key":0,"count":8},{"key":4,"count":8},{"key":8,"count":4}])"));
  CHECK(f.run("histogram", {{"by", "callsite"}})["buckets"] ==
        json::parse(R"([{"key":"train.py:88","count":10},{"key":null,"count":10}])"));
  CHECK(f.run("histogram", {{"by", "host"}})["buckets"][0]["key"] == "n1");
  const json templates = f.run("histogram", {{"by", "template"}})["buckets"];
  REQUIRE(templates.size() == 1);
  CHECK(templates[0]["key"].get<std::string>().size() == 16);

  const json by_time = f.run("histogram", {{"by", "time"}, {"step", "5s"}});
  CHECK(by_time["step"] == "5s");
  CHECK(by_time["buckets"][0]["key"] == "1970-01-01T00:00:00.000000000Z");
  CHECK(by_time["buckets"][0]["count"] == 8);
  CHECK(by_time["buckets"][2]["key"] == "1970-01-01T00:00:10.000000000Z");
  CHECK(by_time["buckets"][2]["count"] == 2);
  // Without a step: by time, in steps that fit.
  const json plain = f.run("histogram", {});
  CHECK(plain["by"] == "time");
  CHECK(plain["step"] == "100ms");
  CHECK(plain["buckets"].size() == 10);

  const json capped = f.run("histogram", {{"by", "iteration"}, {"step", "1"}, {"limit", "3"}});
  CHECK(capped["buckets"].size() == 3);
  CHECK(capped["other"] == 14);
  CHECK(capped["other_buckets"] == 7);
}

TEST_CASE("Api: fields names columns and metadata with types, counts, ranges and top values") {
  TrainingFixture f;
  const json answer = f.run("fields", {{"rank", "1"}});
  CHECK(answer["lines"] == 10);
  std::map<std::string, json> fields;
  for (const json& field : answer["fields"]) fields[field["name"]] = field;
  const json loss = fields["loss"]["types"][0];
  CHECK(fields["loss"]["kind"] == "metadata");
  CHECK(loss["type"] == "float");
  CHECK(loss["count"] == 10);
  CHECK(loss["points"] == 10);
  CHECK(loss["distinct"] == 7);
  CHECK(loss["min"] == 5.0);
  CHECK(loss["max"] == 10.0);
  CHECK(loss["has_nan"] == true);
  CHECK(fields["phase"]["types"][0]["top"] == json::parse(R"([{"value":"warm","count":10}])"));
  CHECK(fields["rank"]["kind"] == "column");
  CHECK(fields["rank"]["types"][0]["top"] == json::parse(R"([{"value":1,"count":10}])"));
  CHECK(fields["iteration"]["types"][0]["max"] == 9);
  CHECK(fields["severity"]["types"][0]["distinct"] == 2);
  CHECK(fields["time"]["types"][0]["min"] == "1970-01-01T00:00:01.000000000Z");
  // NaN, integers past 2^53 and two types of one key.
  const json other = f.get(kJob + "/fields").parsed();
  for (const json& field : other["fields"]) {
    if (field["name"] != "big") continue;
    REQUIRE(field["types"].size() == 2);
    CHECK(field["types"][0]["max"] == "1152921504606846976");
    CHECK(field["types"][1]["max"] == 0.5);
  }
}

TEST_CASE("Api: callsites say who prints how much, on which ranks and iterations") {
  TrainingFixture f;
  const json answer = f.run("callsites", {});
  CHECK(answer["total"]["lines"] == 20);
  REQUIRE(answer["callsites"].size() == 2);
  double share = 0;
  for (const json& site : answer["callsites"]) share += site["share"].get<double>();
  CHECK(share == doctest::Approx(1.0));
  const bool first = answer["callsites"][0].contains("callsite");
  const json &site = answer["callsites"][first ? 0 : 1], &rest = answer["callsites"][first ? 1 : 0];
  CHECK(site["callsite"] == "train.py:88");
  CHECK(site["lines"] == 10);
  CHECK(site["bytes"] == "70");
  CHECK(site["ranks"] == "0-1");
  CHECK(site["missing"] == "");
  CHECK(site["first_iteration"] == 0);
  CHECK(site["last_iteration"] == 8);
  CHECK(site["by_rank"] == json::parse(R"([{"rank":0,"lines":5,"bytes":"35"},
                                           {"rank":1,"lines":5,"bytes":"35"}])"));
  CHECK(rest["text"] == "step <*>");
  const json one = f.run("callsites", {{"limit", "1"}, {"not_callsite", "train.py:88"}});
  CHECK(one["callsites"].size() == 1);
  CHECK(one["other"]["callsites"] == 0);
}

TEST_CASE("Api: metric is one, several with commas, or repeated; each once") {
  TrainingFixture f;
  const auto points = [&](std::vector<std::pair<std::string, std::string>> query) {
    return f.run("telemetry/series", std::move(query))["points"];
  };
  CHECK(points({{"metric", "loss"}}) == 20);
  CHECK(points({{"metric", "loss,lr"}}) == 20);
  CHECK(points({{"metric", ",lr,loss,loss,"}, {"metric", "loss"}}) == 20);
  CHECK(f.get("/api/v1/jobs/run/telemetry/series", {{"metric", ","}}).status == 400);
}

TEST_CASE("Api: telemetry series have min, max, mean and last per bucket and rank, NaN kept") {
  TrainingFixture f;
  const json answer = f.run("telemetry/series", {{"metric", "loss"}, {"buckets", "3"}});
  CHECK(answer["step"] == 4);
  CHECK(answer["points"] == 20);
  REQUIRE(answer["series"].size() == 2);
  const json& first = answer["series"][0]["buckets"][0];
  CHECK(answer["series"][0]["rank"] == 0);
  CHECK(answer["series"][0]["attempt"] == 1);
  CHECK(answer["series"][0]["metric"] == "loss");
  CHECK(first["iteration"] == 0);
  CHECK(first["count"] == 4);
  CHECK(first["min"] == 7.0);
  CHECK(first["max"] == 10.0);
  CHECK(first["mean"] == 8.5);
  CHECK(first["last"] == 7.0);
  const json& diverged = answer["series"][1];
  CHECK(diverged["nan"] == 4);
  CHECK(diverged["first_nan"] == 6);
  CHECK(diverged["buckets"][1]["min"] == 5.0);
  CHECK(diverged["buckets"][1]["mean"] == "NaN");
  CHECK(diverged["buckets"][1]["last"] == "NaN");
  CHECK(diverged["buckets"][2]["max"] == "NaN");
  const json narrow =
      f.run("telemetry/series",
            {{"metric", "loss"}, {"rank", "1"}, {"iteration", "2..5"}, {"attempt", "1"}});
  REQUIRE(narrow["series"].size() == 1);
  CHECK(narrow["step"] == 1);
  CHECK(narrow["series"][0]["buckets"].size() == 4);
  CHECK(f.run("telemetry/series", {{"metric", "loss"}, {"iteration", "90.."}})["series"].empty());
}

TEST_CASE(
    "Api: sums of an attempt, a rank, a host or a stream that the job does not have are 404") {
  TrainingFixture f;
  std::vector<Line> tagged = {test::make_line(0, 1, "of a rank that only its lines name")};
  tagged[0].wrapper_rank = 7;
  StreamAttributes shared;
  shared.job = "run";
  shared.name = "launcher.log";
  f.training->add_block(f.training->add_stream({StreamBase{9, 90}, 0}, {shared}), 0, tagged);
  ProcessFacts silent;
  silent.info.job = "run";
  silent.info.rank = 12;
  silent.attempt = 1;
  f.training->add_process(silent);
  struct Case {
    const char *name, *value, *why;  // no why: it is there
  };
  for (const Case& c :
       {Case{"attempt", "0", "has no attempt 0; it has 1"}, Case{"attempt", "1,3", nullptr},
        Case{"attempt", "0-4", nullptr}, Case{"rank", "5", "has no rank 5; it has 0-1,7,12"},
        Case{"rank", "0,5", nullptr}, Case{"rank", "5,6", "has no rank 5"},
        Case{"rank", "13..", "has no rank 13..;"}, Case{"rank", "-3--1", "has no rank -3..-1;"},
        Case{"rank", "1", nullptr}, Case{"rank", "7", nullptr}, Case{"rank", "12", nullptr},
        Case{"rank", "1-6", nullptr}, Case{"host", "n2", "has no host n2: "},
        Case{"host", "n1", nullptr}, Case{"stream", "/no/such.log", "has no stream /no/such.log: "},
        Case{"stream", "stdout", nullptr}, Case{"stream", "launcher.log", nullptr}}) {
    for (const char* what : {"histogram", "fields", "callsites", "telemetry/series",
                             "telemetry/points", "correlate", "compare"}) {
      CAPTURE(what);
      CAPTURE(c.name);
      CAPTURE(c.value);
      std::vector<std::pair<std::string, std::string>> query = {{c.name, c.value}};
      if (std::string(what).starts_with("telemetry")) query.emplace_back("metric", "loss");
      if (std::string(what) == "correlate") {
        query.emplace_back("first", R"(|= "step")");
        query.emplace_back("then", R"(|= "step")");
      }
      const ApiAnswer answer = f.get("/api/v1/jobs/run/" + std::string(what), query);
      CAPTURE(answer.body);
      CHECK(answer.status == (c.why == nullptr ? 200 : 404));
      if (c.why != nullptr) CHECK(answer.body.find(c.why) != std::string::npos);
    }
    // Of pages of lines it is a filter like any other: what is not there yet may come.
    CHECK(f.get("/api/v1/jobs/run/lines", {{c.name, c.value}}).status == 200);
    CHECK(f.get("/api/v1/jobs/run/count", {{c.name, c.value}}).status == 200);
  }
}

TEST_CASE("Api: telemetry points page by cursor to all points, in order of time") {
  TrainingFixture f;
  std::set<std::string> lines;
  std::string cursor, before;
  std::size_t nan = 0;
  for (int page = 0; page < 10; ++page) {
    std::vector<std::pair<std::string, std::string>> query = {{"metric", "loss"}, {"limit", "7"}};
    if (!cursor.empty()) query.emplace_back("cursor", cursor);
    const json answer = f.run("telemetry/points", query);
    for (const json& point : answer["points"]) {
      lines.insert(point["line"].get<std::string>());
      CHECK(before <= point["time"].get<std::string>());
      before = point["time"];
      CHECK(point["metric"] == "loss");
      if (point["value"] == "NaN") ++nan;
    }
    if (answer["next"].is_null()) break;
    CHECK(answer["points"].size() == 7);
    cursor = answer["next"];
  }
  CHECK(lines.size() == 20);
  CHECK(nan == 4);
  const json one =
      f.run("telemetry/points", {{"metric", "loss"}, {"limit", "1"}, {"direction", "backward"}});
  CHECK(one["points"][0]["iteration"] == 9);
  CHECK(f.get("/api/v1/jobs/run/telemetry/points", {{"metric", "lr"}, {"cursor", cursor}}).status ==
        400);
}

TEST_CASE("Api: sums refuse what they cannot mean, and keep the deadline") {
  TrainingFixture f;
  struct Case {
    std::string path;
    std::vector<std::pair<std::string, std::string>> query;
    int status;
  };
  const std::vector<Case> kCases = {
      {"histogram", {{"by", "colour"}}, 400},
      {"histogram", {{"step", "5"}}, 400},
      {"histogram", {{"step", "0s"}}, 400},
      {"histogram", {{"by", "rank"}, {"step", "5"}}, 400},
      {"histogram", {{"by", "iteration"}, {"step", "5s"}}, 400},
      {"histogram", {{"limit", "0"}}, 400},
      {"histogram", {{"grep", "("}}, 400},
      {"fields", {{"top", "9999"}}, 400},
      {"fields", {{"rankk", "1"}}, 400},
      {"callsites", {{"limit", "x"}}, 400},
      {"telemetry/series", {}, 400},
      {"telemetry/series", {{"metric", "loss"}, {"buckets", "0"}}, 400},
      {"telemetry/points", {}, 400},
      {"telemetry/points", {{"metric", "loss"}, {"cursor", "x"}}, 400},
  };
  for (const Case& c : kCases) {
    CAPTURE(c.path);
    const ApiAnswer answer = f.get("/api/v1/jobs/run/" + c.path, c.query);
    CHECK(answer.status == c.status);
    CHECK(answer.type == "application/problem+json");
  }
  for (const char* path : {"histogram", "fields", "callsites"}) {
    CHECK(f.get("/api/v1/jobs/nobody/" + std::string(path)).status == 404);
  }
  for (const char* path : {"series", "points"}) {
    const std::string whole = "/api/v1/jobs/nobody/telemetry/" + std::string(path);
    CHECK(f.get(whole, {{"metric", "loss"}}).status == 404);
  }
  f.options.deadline = std::chrono::nanoseconds(0);
  CHECK(f.get("/api/v1/jobs/run/histogram").status == 504);
  CHECK(f.get("/api/v1/jobs/run/telemetry/series", {{"metric", "loss"}}).status == 504);
}

TEST_CASE("Api: a job's freshness says how old its last line is and what is still to come") {
  TrainingFixture f;
  const json fresh = f.get("/api/v1/jobs/run").parsed()["jobs"][0]["freshness"];
  CHECK(fresh["streams"] == 2);
  CHECK(fresh["lagging"] == 0);
  CHECK(fresh["pending"] == "0");
  CHECK(!fresh.contains("why"));
  f.training->facts()[0].closed->size += 1000;
  f.training->facts()[1].closed.reset();
  const json late = f.get("/api/v1/jobs").parsed()["jobs"];
  for (const json& job : late) {
    if (job["job"] != "run") continue;
    CHECK(job["freshness"]["lagging"] == 2);
    CHECK(job["freshness"]["pending"] == "1000");
    CHECK(job["freshness"]["why"] == "bytes are still to come");
  }
}

TEST_CASE("Api: streams are called `stream` as lines and filters call them") {
  ApiFixture f;
  const json stream = f.get(kJob + "/streams").parsed()["streams"][0];
  CHECK(stream["stream"] == "stdout");
  CHECK(stream["name"] == "stdout");
  CHECK(stream["versions"][0]["stream"] == "stdout");
}

}  // namespace logarithm::aggregator
