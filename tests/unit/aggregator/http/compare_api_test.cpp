// What ranks print, against each other: compare, correlate, groups among call sites, saved lists.
#include <doctest/doctest.h>

#include "aggregator/http/suppressions.h"
#include "tests/support/spmd_job.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/aggregator/http/api_fixture.h"

namespace logarithm::aggregator {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

struct RanksFixture : ApiFixture {
  test::SpmdJob spmd;
  json ask_job(const std::string& what, Query query = {}) {
    storage.put("spmd", spmd.make());
    const ApiAnswer answer = get("/api/v1/jobs/spmd/" + what, std::move(query));
    INFO(answer.body);
    REQUIRE(answer.status == 200);
    return answer.parsed();
  }
  int status_of(const std::string& what, Query query) {
    storage.put("spmd", spmd.make());
    return get("/api/v1/jobs/spmd/" + what, std::move(query)).status;
  }
};

}  // namespace

TEST_CASE("Api: compare tells what ranks agree on and who departs") {
  RanksFixture f;
  f.spmd.extras.push_back({5, 17, "retrying batch", Severity::warning});
  f.spmd.corrupt.push_back({6, 30, 39, 0.5});
  const json found = f.ask_job("compare");
  CHECK(found["ranks"] == "0-7");
  CHECK(found["attempt"] == 0);
  CHECK(found["peers"] == json::parse(R"(["0-7"])"));
  CHECK(found["consensus"]["groups"].size() >= 4);
  CHECK(found["consensus"]["iterations"][0]["iterations"] == "0..39");
  CHECK(found["first_divergence"] == json::parse(R"({"iteration":17,"rank":5})"));
  REQUIRE(found["departures"].size() == 2);
  const json value = found["departures"][0], extra = found["departures"][1];
  CHECK(value["kind"] == "value");
  CHECK(value["rank"] == 6);
  CHECK(value["iteration"] == 30);
  CHECK(value["last_iteration"] == 39);
  CHECK(value["count"] == 10);
  CHECK(value["key"] == "loss");
  CHECK(extra["kind"] == "extra");
  CHECK(extra["text"] == "retrying batch");
  CHECK(extra["peers"] == "0-4,6-7");
  CHECK(extra["group"].get<std::string>().size() == 16);
  CHECK(f.get("/api/v1/context", {{"id", extra["line"].get<std::string>()}}).status == 200);
  CHECK(found["completeness"]["complete"] == true);
  // The same question, the same bytes.
  CHECK(f.ask_job("compare") == found);
}

TEST_CASE("Api: compare of an attempt that the job does not have is 404") {
  RanksFixture f;
  CHECK(f.status_of("compare", {{"attempt", "0"}}) == 200);
  CHECK(f.status_of("compare", {{"attempt", "5"}}) == 404);
  CHECK(f.status_of("compare", {{"attempt", "5"}, {"first", "true"}}) == 404);
  CHECK(f.status_of("compare", {{"ranks", "0,3"}, {"attempt", "5"}}) == 404);
  CHECK(f.status_of("compare", {{"attempt", "5-9"}}) == 404);
  CHECK(f.status_of("compare", {{"attempt", "0-9"}}) == 200);
  CHECK(f.status_of("compare", {{"against_attempt", "5"}}) == 404);
  CHECK(f.status_of("compare", {{"attempt", "5"}, {"against_attempt", "0"}}) == 404);
  CHECK(f.status_of("compare", {{"against_attempt", "0"}, {"ranks", "0,77"}}) == 404);
  CHECK(f.status_of("compare", {{"against_job", "nobody"}}) == 404);
  f.storage.put("smaller", [] {
    test::SpmdJob small;
    small.ranks = 4;
    return small.make();
  }());
  CHECK(f.status_of("compare", {{"against_job", "smaller"}}) == 200);
  CHECK(f.status_of("compare", {{"against_job", "smaller"}, {"ranks", "2,6"}}) == 404);
  CHECK(f.get("/api/v1/jobs/nobody/compare", {{"first", "true"}}).status == 404);
}

TEST_CASE("Api: compare of a rank that the job does not have is 404, of a silent one is not") {
  RanksFixture f;
  CHECK(f.status_of("compare", {{"ranks", "0,77"}}) == 404);
  CHECK(f.status_of("compare", {{"ranks", "77,0"}}) == 404);
  CHECK(f.status_of("compare", {{"ranks", "0,1,77"}}) == 404);
  CHECK(f.status_of("compare", {{"ranks", "8-99"}}) == 404);
  CHECK(f.status_of("compare", {{"ranks", "4-99"}}) == 200);
  CHECK(f.status_of("compare", {{"ranks", "all"}}) == 200);
  CHECK(f.status_of("compare", {{"peers", "0-3;8-15"}}) == 404);
  CHECK(f.status_of("compare", {{"peers", "0-3;4-15"}}) == 200);
  for (const char* both : {"false", "true"}) {
    CHECK(f.status_of("compare", {{"first", both}, {"ranks", "0,77"}}) == 404);
    CHECK(f.status_of("compare", {{"first", both}, {"rank", "77"}}) == 404);
    CHECK(f.status_of("compare", {{"first", both}, {"ranks", "0,3"}}) == 200);
  }
  CHECK(f.status_of("compare", {{"ranks", "0,3"}, {"grep", "no line says this"}}) == 200);
}

TEST_CASE("Api: compare takes filters, peers, ranks and attempts") {
  RanksFixture f;
  f.spmd.extras.push_back({5, 17, "retrying batch", Severity::warning});
  CHECK(f.ask_job("compare", {{"iteration", "18.."}})["departures"].empty());
  CHECK(f.ask_job("compare", {{"ranks", "0-4"}})["ranks"] == "0-4");
  CHECK(f.ask_job("compare", {{"peers", "0-3;4-7"}})["peers"] == json::parse(R"(["0-3","4-7"])"));
  CHECK(f.status_of("compare", {{"attempt", "7"}}) == 404);
  CHECK(f.ask_job("compare", {{"limit", "1"}})["departures"].size() == 1);
  for (const Query& bad : std::vector<Query>{{{"peers", "some"}},
                                             {{"ranks", "x"}},
                                             {{"limit", "0"}},
                                             {{"context", "-1"}},
                                             {{"first", "maybe"}},
                                             {{"rank", "0"}, {"peer", "1"}}}) {
    CHECK(f.status_of("compare", bad) == 400);
  }
  CHECK(f.get("/api/v1/jobs/none/compare").status == 404);
}

TEST_CASE("Api: compare refuses what the kind that is asked for would pass over") {
  RanksFixture f;
  const Query pair = {{"ranks", "0,3"}}, other = {{"against_attempt", "0"}};
  const auto with = [](Query query, const char* name, const char* value) {
    query.emplace_back(name, value);
    return query;
  };
  CHECK(f.status_of("compare", with(pair, "context", "3")) == 200);
  CHECK(f.status_of("compare", with({}, "context", "3")) == 400);
  CHECK(f.status_of("compare", with({{"ranks", "0-4"}}, "context", "3")) == 400);
  CHECK(f.status_of("compare", with(other, "context", "3")) == 400);
  CHECK(f.status_of("compare", with(with(pair, "first", "true"), "context", "3")) == 400);
  CHECK(f.status_of("compare", with({}, "peers", "all")) == 200);
  CHECK(f.status_of("compare", with({{"first", "true"}}, "peers", "all")) == 200);
  CHECK(f.status_of("compare", with(pair, "peers", "all")) == 400);
  CHECK(f.status_of("compare", with(other, "peers", "all")) == 400);
  CHECK(f.status_of("compare", with(other, "first", "false")) == 200);
  CHECK(f.status_of("compare", with(other, "first", "true")) == 400);
  CHECK(f.status_of("compare", with(other, "first", "maybe")) == 400);
}

TEST_CASE("Api: two ranks are laid side by side, the first is the reference") {
  RanksFixture f;
  f.spmd.extras.push_back({5, 17, "retrying batch", Severity::warning});
  f.spmd.left_out.push_back({5, 20, "memory", {}});
  const json found = f.ask_job("compare", {{"ranks", "2,5"}, {"iteration", "17..20"}});
  CHECK(found["ranks"] == "2,5");
  std::map<std::string, int> kinds;
  for (const json& row : found["rows"]) {
    if (!row.contains("count")) ++kinds[row["kind"].get<std::string>()];
  }
  CHECK(kinds["right"] == 1);
  CHECK(kinds["left"] == 1);
  CHECK(kinds["value"] == 0);  // each rank has memory and times of its own
  CHECK(found["first_divergence"]["rank"] == 5);
  const json swapped = f.ask_job("compare", {{"ranks", "5,2"}, {"iteration", "17..20"}});
  CHECK(swapped["first_divergence"]["rank"] == 2);
  const json same = f.ask_job(
      "compare", {{"ranks", "2,5"}, {"iteration", "18..19"}, {"query", R"(|= "begins")"}});
  CHECK(same["departures"].empty());
  CHECK(same["first_divergence"].is_null());
  CHECK(same["rows"] == json::parse(R"([{"kind":"same","count":2}])"));
}

TEST_CASE("Api: correlate pairs a line with the next one of its rank") {
  RanksFixture f;
  f.spmd.extras.push_back({5, 17, "retrying batch", Severity::warning});
  f.spmd.corrupt.push_back({5, 18, 18, 50});
  const Query query = {{"first", R"(|= "retrying")"}, {"then", "| loss > 40"}};
  json found = f.ask_job("correlate", query);
  REQUIRE(found["pairs"].size() == 1);
  const json pair = found["pairs"][0];
  CHECK(pair["rank"] == 5);
  CHECK(pair["iterations"] == 1);
  CHECK(pair["first"]["iteration"] == 17);
  CHECK(pair["then"]["meta"]["loss"] > 40);
  CHECK(found["count"] == 1);
  CHECK(found["firsts"] == 1);
  Query none = query;
  none.push_back({"within", "0i"});
  CHECK(f.ask_job("correlate", none)["count"] == 0);
  Query soon = query;
  soon.push_back({"within", "100ms"});
  CHECK(f.ask_job("correlate", soon)["count"] == 0);
  soon.back().second = "3s";
  soon.push_back({"by", "host"});
  CHECK(f.ask_job("correlate", soon)["pairs"][0]["host"] == "n0");
  CHECK(f.status_of("correlate", {{"first", "{"}, {"then", "| loss > 4"}}) == 400);
  CHECK(f.status_of("correlate", {{"first", "| loss > 4"}}) == 400);
  Query bad = query;
  bad.push_back({"by", "moon"});
  CHECK(f.status_of("correlate", bad) == 400);
  bad.back() = {"within", "soon"};
  CHECK(f.status_of("correlate", bad) == 400);
}

TEST_CASE("Api: call sites without a name are groups, and suggest what is noise") {
  RanksFixture f;
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    static const char* const kBuckets[] = {"alpha", "beta", "gamma", "delta"};
    for (int i = 0; i < 40; ++i) {
      f.spmd.extras.push_back(
          {rank, i, std::string("opened bucket ") + kBuckets[i % 4] + " again", Severity::info});
    }
  }
  const json sites = f.ask_job("callsites")["callsites"];
  const auto bucket = std::find_if(sites.begin(), sites.end(), [](const json& site) {
    return site["text"] == "opened bucket <*> again";
  });
  REQUIRE(bucket != sites.end());
  CHECK((*bucket)["lines"] == 320);
  CHECK((*bucket)["templates"].size() == 4);
  CHECK((*bucket)["missing"] == "");
  CHECK((*bucket)["noise"] == true);
  for (const json& site : sites) {
    const std::string text = site["text"];
    if (text.starts_with("step") || text.starts_with("throughput")) {
      CHECK_FALSE(site.contains("noise"));
    }
  }
}

TEST_CASE("Suppression: a list is what its filters say") {
  auto parsed = parse_suppression(
      R"({"name":"n1","callsites":["a.py:1"],"templates":["00000000000000ab","00000000000000cd"],"texts":["say \"x\""]})");
  REQUIRE(parsed.ok());
  CHECK(parsed->first == "n1");
  CHECK(parsed->second.filters() ==
        Query{{"not_callsite", "a.py:1"},
              {"query", R"({template!="00000000000000ab", template!="00000000000000cd"})"},
              {"query", R"(!= "say \"x\"")"}});
  for (const char* bad : {"", "[]", "{}", R"({"name":"n"})", R"({"name":"a/b","texts":["x"]})",
                          R"({"name":"n","templates":["xyz"]})", R"({"name":"n","texts":"x"})",
                          R"({"name":"n","texts":[""]})", R"({"name":"n","text":["x"]})"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_suppression(bad).ok());
  }
}

TEST_CASE("SuppressionStore: lists outlive it; the job's come before the tenant's") {
  test::TempDir directory;
  const std::string path = directory.path() + "/lists.json";
  WorkerPool pool(1);
  pool.run_and_wait([&](BlockingToken& token) {
    Suppression one, other;
    one.texts = {"x"};
    other.callsites = {"a.py:1"};
    {
      auto store = SuppressionStore::open(token, path);
      REQUIRE(store.ok());
      CHECK((*store)->put(token, "t", "j", "noise", one).ok());
      CHECK((*store)->put(token, "t", "", "noise", other).ok());
      CHECK((*store)->put(token, "u", "", "noise", one).ok());
    }
    auto store = SuppressionStore::open(token, path);
    REQUIRE(store.ok());
    CHECK((*store)->find("t", "j", "noise") == one);
    CHECK((*store)->find("t", "k", "noise") == other);
    CHECK_FALSE((*store)->find("v", "j", "noise").has_value());
    CHECK((*store)->erase(token, "t", "j", "noise").ok());
    CHECK((*store)->find("t", "j", "noise") == other);
    CHECK((*store)->erase(token, "t", "j", "noise").error().code() == ErrorCode::not_found);
    for (std::size_t i = 0; i < SuppressionStore::kMaxLists; ++i) {
      CHECK((*store)->put(token, "t", "j", "n" + std::to_string(i), one).ok());
    }
    CHECK((*store)->put(token, "t", "j", "more", one).error().code() == ErrorCode::too_large);
    return 0;
  });
}

}  // namespace logarithm::aggregator
