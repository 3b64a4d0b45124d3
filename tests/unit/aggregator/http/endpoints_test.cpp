#include "aggregator/http/endpoints.h"

#include <doctest/doctest.h>

#include "tests/unit/aggregator/http/api_fixture.h"

namespace logarithm::aggregator {
namespace {

// A path of the table with a job in it.
std::string concrete(std::string_view path) {
  std::string out(path);
  const auto open = out.find('{');
  if (open != std::string::npos) out.replace(open, out.find('}') - open + 1, "a/b");
  return out;
}

}  // namespace

TEST_CASE("Endpoints: every row is served, and a parameter that it does not name is refused") {
  ApiFixture f;
  for (const Endpoint& endpoint : endpoints()) {
    if (endpoint.websocket) continue;
    CAPTURE(endpoint.path);
    net::Request request;
    request.method = endpoint.method;
    request.path = concrete(endpoint.path);
    const ApiAnswer plain = f.call(request);
    CHECK(plain.status != 405);
    CHECK(plain.body.find("no such path") == std::string::npos);
    request.query = {{"no_such", "1"}};
    const ApiAnswer stranger = f.call(request);
    const bool refuses = endpoint.path.starts_with("/api/");
    CHECK((stranger.body.find("unknown parameter") != std::string::npos) == refuses);
    if (refuses) CHECK(stranger.status == 400);
  }
}

TEST_CASE("Endpoints: the document names every operation and describes every parameter") {
  ApiFixture f;
  net::Request request;
  request.method = "GET";
  request.path = "/api/v1/openapi.json";
  const ApiAnswer answer = f.call(request);
  REQUIRE(answer.status == 200);
  const json document = answer.parsed();
  CHECK(document["openapi"] == "3.1.0");
  std::size_t operations = 0;
  for (const auto& [path, methods] : document["paths"].items()) operations += methods.size();
  CHECK(operations == endpoints().size());
  for (const Endpoint& endpoint : endpoints()) {
    CAPTURE(endpoint.path);
    std::string method(endpoint.method);
    for (char& c : method) c = static_cast<char>(c | 0x20);
    const json& operation = document["paths"][std::string(endpoint.path)][method];
    CHECK(operation["summary"] == endpoint.what);
    std::set<std::string> names;
    for (const json& parameter : operation["parameters"]) {
      CHECK(!parameter.value("description", "").empty());
      names.insert(parameter["name"]);
    }
    for (const std::string_view name : parameter_names(endpoint)) {
      CHECK(names.contains(std::string(name)));
    }
    CHECK(names.contains("job") == (endpoint.path.find("{job}") != std::string_view::npos ||
                                    endpoint.path == "/api/v1/tail"));
  }
}

TEST_CASE("Front page: says what this is, how to ask, and every operation; without a token too") {
  ApiFixture f;
  const ApiAnswer open = f.get("/", {}, {{"Host", "10.0.0.7:7400"}});
  CHECK(open.status == 200);
  CHECK(open.type == "text/plain; charset=utf-8");
  CHECK(open.body.starts_with("Logarithm aggregator " LGR_VERSION));
  CHECK(open.body.find("export LOGARITHM_SERVER=http://10.0.0.7:7400\n") != std::string::npos);
  CHECK(open.body.find("TOKEN") == std::string::npos);
  for (const Endpoint& endpoint : endpoints()) {
    CAPTURE(endpoint.path);
    CHECK(open.body.find(" " + std::string(endpoint.path) + " ") != std::string::npos);
    CHECK(open.body.find(endpoint.what) != std::string::npos);
  }
  f.tokens = {{"secret", "team"}};
  const ApiAnswer closed = f.get("/");
  CHECK(closed.status == 200);
  CHECK(closed.body.find("export LOGARITHM_TOKEN=") != std::string::npos);
  CHECK(closed.body.find("secret") == std::string::npos);
  CHECK(closed.body.find("team") == std::string::npos);
  CHECK(f.get("/index.html").status == 401);
}

TEST_CASE("Front page: a host name that is none is not repeated") {
  ApiFixture f;
  for (const std::string& host :
       {std::string("a; rm -rf ~"), std::string("<b>"), std::string(), std::string(300, 'a')}) {
    CAPTURE(host);
    const ApiAnswer answer = f.get("/", {}, {{"Host", host}});
    CHECK(answer.body.find("LOGARITHM_SERVER=http://127.0.0.1:7400\n") != std::string::npos);
  }
}

}  // namespace logarithm::aggregator
