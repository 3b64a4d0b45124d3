#include "cli/raw_plan.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

Json stream(const std::string& id, int generation, Json versions, const std::string& end) {
  Json out = versions[0];
  out["id"] = id + "." + std::to_string(generation);
  out["generation"] = generation;
  out["end"] = end;
  out["versions"] = std::move(versions);
  return out;
}

Json version(std::optional<int> attempt, std::optional<int> rank, const std::string& name,
             const std::string& from = "0") {
  Json out;
  if (attempt) out["attempt"] = *attempt;
  if (rank) out["rank"] = *rank;
  out["name"] = name;
  out["from"] = from;
  return out;
}

Json answer(std::vector<Json> streams) {
  Json out;
  out["streams"] = std::move(streams);
  return out;
}

std::vector<std::string> files_of(const std::vector<RawPart>& parts) {
  std::vector<std::string> out;
  for (const RawPart& part : parts) out.push_back(part.file);
  return out;
}

}  // namespace

TEST_CASE("plan_raw: streams follow one another by attempt, rank, stream, generation") {
  const Json streams = answer({stream("d", 0, Json::array({version(1, 0, "stdout")}), "5"),
                               stream("c", 1, Json::array({version(0, 10, "stdout")}), "5"),
                               stream("c", 0, Json::array({version(0, 10, "stdout")}), "5"),
                               stream("b", 0, Json::array({version(0, 2, "stderr")}), "5"),
                               stream("a", 0, Json::array({version(0, 2, "stdout")}), "5")});

  auto parts = plan_raw(streams, Filters());

  REQUIRE(parts.ok());
  CHECK(files_of(*parts) ==
        std::vector<std::string>{"attempt-0/rank-2/stderr.log", "attempt-0/rank-2/stdout.log",
                                 "attempt-0/rank-10/stdout.log", "attempt-0/rank-10/stdout.log.2",
                                 "attempt-1/rank-0/stdout.log"});
  CHECK(parts->at(2).stream_id == "c.0");
  CHECK(parts->at(3).stream_id == "c.1");
  CHECK(parts->at(0).whole);
  CHECK(parts->at(0).end == 5);
}

TEST_CASE("plan_raw: a file that served two attempts is cut where they change") {
  Json versions = Json::array(
      {version(0, 1, "stdout"), version(1, 1, "stdout", "100"), version(1, 1, "stdout", "150")});
  const Json streams = answer({stream("a", 0, versions, "200")});

  auto all = plan_raw(streams, Filters());
  REQUIRE(all.ok());
  REQUIRE(all->size() == 2);
  CHECK(all->at(0).from == 0);
  CHECK(all->at(0).to == 100);
  CHECK(all->at(0).end == 100);
  CHECK(all->at(1).from == 100);
  CHECK_FALSE(all->at(1).to);
  CHECK(all->at(1).end == 200);
  CHECK_FALSE(all->at(1).whole);

  Filters second;
  second.attempt = "1";
  auto one = plan_raw(streams, second);
  REQUIRE(one.ok());
  REQUIRE(one->size() == 1);
  CHECK(one->at(0).from == 100);
}

TEST_CASE("plan_raw: to files, a file that served several attempts and ranks is one file") {
  Json versions = Json::array(
      {version(0, 1, "stdout"), version(1, 1, "stdout", "100"), version(1, 1, "stdout", "150")});
  Json ranks = Json::array({version(0, 1, "stdout"), version(0, 2, "stdout", "100")});
  const Json streams = answer({stream("a", 0, versions, "200"), stream("b", 0, ranks, "200")});

  auto all = plan_raw(streams, Filters(), RawCuts::never);

  REQUIRE(all.ok());
  CHECK(files_of(*all) == std::vector<std::string>{"rank-1/stdout.log", "attempt-0/stdout.log"});
  for (const RawPart& part : *all) {
    CHECK(part.from == 0);
    CHECK_FALSE(part.to);
    CHECK(part.end == 200);
    CHECK(part.whole);
  }

  Filters first;
  first.attempt = "0";
  first.rank = "1";
  auto some = plan_raw(streams, first, RawCuts::never);
  REQUIRE(some.ok());
  REQUIRE(some->size() == 2);
  CHECK(some->at(0).end == 100);
  CHECK(some->at(0).file == "attempt-0/rank-1/stdout.log");
}

TEST_CASE("plan_raw: filters pick by rank, host, name and alias") {
  Json both = version(0, 1, "stdout");
  both["aliases"] = {"stderr"};
  both["host"] = "n1";
  const Json streams = answer({stream("a", 0, Json::array({both}), "1"),
                               stream("b", 0, Json::array({version(0, 2, "stderr")}), "1"),
                               stream("c", 0, Json::array({version({}, {}, "/x/../log")}), "1")});
  Filters filters;
  filters.stream = {"stderr"};
  CHECK(plan_raw(streams, filters)->size() == 2);
  filters.host = {"n1"};
  CHECK(plan_raw(streams, filters)->size() == 1);
  filters = Filters();
  filters.rank = "2-9";
  CHECK(plan_raw(streams, filters)->size() == 1);
  filters.rank = "x";
  CHECK_FALSE(plan_raw(streams, filters).ok());
  CHECK(files_of(*plan_raw(streams, Filters())).front() == "log");
}

TEST_CASE("plan_raw: a name cannot leave the directory") {
  for (const char* name : {"..", ".", "", "/", "a/..", "../../etc/passwd", "a\nb"}) {
    CAPTURE(name);
    const Json streams = answer({stream("a", 0, Json::array({version({}, {}, name)}), "1")});
    auto parts = plan_raw(streams, Filters());
    REQUIRE(parts.ok());
    const std::string file = parts->at(0).file;
    CHECK(file.find('/') == std::string::npos);
    CHECK(file.find('\n') == std::string::npos);
    CHECK(file != "..");
    CHECK(file != ".");
    CHECK_FALSE(file.empty());
  }
}

TEST_CASE("plan_raw: an answer of another shape is an error") {
  for (const char* text : {"null", "[]", "{}", R"({"streams":1})"}) {
    CAPTURE(text);
    CHECK_FALSE(plan_raw(Json::parse(text), Filters()).ok());
  }
}

}  // namespace logarithm::cli
