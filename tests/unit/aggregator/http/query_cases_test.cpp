#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "tests/unit/aggregator/http/api_fixture.h"

// cases.md F, as far as they are asked over REST.
namespace logarithm::aggregator {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

// A job "cases" beside the fixture's own, with streams of the test's lines.
struct CasesFixture : ApiFixture {
  std::shared_ptr<test::FakeJob> cases = storage.add("cases");
  const std::string path = "/api/v1/jobs/cases/lines";

  std::size_t add_stream(std::uint64_t number) {
    StreamAttributes attributes;
    attributes.job = "cases";
    attributes.name = "stdout";
    attributes.rank = static_cast<int>(number);
    return cases->add_stream(StreamId{StreamBase{9, number}, 0}, {attributes});
  }
  // Lines of one time, behind what the stream has.
  void add(std::size_t index, UnixNanos time, const std::vector<std::string>& added) {
    const auto& ranges = cases->facts()[index].ranges;
    std::uint64_t at = ranges.empty() ? 0 : ranges.back().end;
    std::vector<Line> lines;
    for (const std::string& text : added) {
      lines.push_back(test::make_line(at, time, text));
      at = lines.back().end();
    }
    cases->add_block(index, 0, lines);
  }
  std::vector<std::string> texts(Query query) {
    query.emplace_back("direction", "forward");
    std::vector<std::string> out;
    const ApiAnswer answer = get(path, std::move(query));
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    const json page = answer.parsed();
    for (const json& line : page["lines"]) out.push_back(line["text"]);
    return out;
  }
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// As RE2 takes it literally.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::ispunct(static_cast<unsigned char>(c)) != 0) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

TEST_CASE_FIXTURE(CasesFixture, "Query: case 81, more than 10,000 lines a page are refused") {
  const ApiAnswer answer = get(path, {{"limit", "1000000"}});
  CHECK(answer.status == 400);
  CHECK(answer.body.find("10000") != std::string::npos);
}

TEST_CASE_FIXTURE(CasesFixture,
                  "Query: case 82, pages over equal stamps are the whole while new lines arrive") {
  constexpr int kStreams = 4, kEach = 2'500;
  std::set<std::string> wanted;
  for (int s = 0; s < kStreams; ++s) {
    add_stream(static_cast<std::uint64_t>(s));
    std::vector<std::string> lines;
    for (int i = 0; i < kEach; ++i) {
      lines.push_back("old " + std::to_string(s) + " " + std::to_string(i));
      wanted.insert(lines.back());
    }
    add(static_cast<std::size_t>(s), 1'000, lines);
  }
  for (const char* direction : {"forward", "backward"}) {
    CAPTURE(direction);
    std::vector<std::string> ids;
    std::set<std::string> seen;
    std::string cursor;
    int pages = 0;
    do {
      Query query = {{"limit", "500"}, {"direction", direction}, {"grep", "^old "}};
      if (!cursor.empty()) query.emplace_back("cursor", cursor);
      const json page = get(path, query).parsed();
      for (const json& line : page["lines"]) {
        ids.push_back(line["id"]);
        seen.insert(line["text"]);
      }
      cursor = page["next"].is_null() ? "" : page["next"];
      add(static_cast<std::size_t>(pages % kStreams), 1'000, {"new " + std::to_string(pages)});
      ++pages;
    } while (!cursor.empty() && pages < 60);
    CHECK(ids.size() == kStreams * kEach);
    CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == ids.size());
    CHECK(seen == wanted);
  }
}

TEST_CASE_FIXTURE(
    CasesFixture,
    "Query: case 84, equal stamps keep their order, and the limit counts what passed") {
  const std::size_t a = add_stream(0);
  add(a, 7, {"keep 1", "drop 1", "keep 2", "drop 2", "keep 3"});
  const auto page = [&](const char* direction) {
    std::vector<std::string> out;
    const json got =
        get(path, {{"direction", direction}, {"limit", "2"}, {"query", "|= \"keep\""}}).parsed();
    for (const json& line : got["lines"]) out.push_back(line["text"]);
    return out;
  };
  CHECK(page("forward") == std::vector<std::string>{"keep 1", "keep 2"});
  CHECK(page("backward") == std::vector<std::string>{"keep 3", "keep 2"});
}

TEST_CASE_FIXTURE(CasesFixture,
                  "Query: case 86, an expression that makes others backtrack is answered") {
  const std::size_t a = add_stream(0);
  const std::string hostile(14 << 10, 'a');
  add(a, 1, {hostile + "b", "0x" + std::string(14 << 10, 'f') + "!"});
  options.deadline = std::chrono::seconds(20);
  CHECK(texts({{"grep", "(a+)+$"}}).empty());
  CHECK(texts({{"grep", "(a|aa)+$"}}).empty());
  CHECK(texts({{"grep", "^0x([0-9a-f]+)*$"}}).empty());
  CHECK(texts({{"grep", "(a+)+b$"}}).size() == 1);
}

TEST_CASE_FIXTURE(
    CasesFixture,
    "Query: case 87, what RE2 refuses is 400 with its reason, many branches are not") {
  add(add_stream(0), 1, {"name 1999 is here", "no name"});
  const ApiAnswer repeated = get(path, {{"grep", "x{0,2048}"}});
  CHECK(repeated.status == 400);
  CHECK(repeated.body.find("repetition") != std::string::npos);
  CHECK(repeated.parsed()["position"].is_number());

  std::string branches;
  for (int i = 0; i < 2'000; ++i) {
    branches += (i == 0 ? "e " : "|e ") + std::to_string(i);
  }
  CHECK(texts({{"grep", branches}}) == std::vector<std::string>{"name 1999 is here"});
  for (int i = 2'000; i < 60'000; ++i) branches += "|e " + std::to_string(i);
  const ApiAnswer large = get(path, {{"grep", branches}});
  CHECK(large.status == 400);
  CHECK(large.parsed()["detail"].get<std::string>().size() < 1'000);
}

TEST_CASE_FIXTURE(CasesFixture, "Query: case 89, a line finds itself whatever is in it") {
  const std::vector<std::string> kParts = {
      "`", "\"", "'",        "{", "}", "\\", "%", "_", "*",   ":",  "-",    "(",
      ")", "[",  "|",        "^", "$", ".",  "+", "?", "=",   "~",  "<",    ">",
      "#", "\t", "\xC3\xA9", " ", ";", ",",  "/", "&", "AND", "OR", "NEAR", "/*"};
  std::vector<std::string> lines;
  for (const std::string& one : kParts) {
    lines.push_back("alone " + one + " end");
    for (std::size_t i = 0; i < 14; ++i) lines.push_back("two" + one + kParts[i] + "x");
  }
  add(add_stream(0), 1, lines);
  const auto finds = [&](const Query& query, const std::string& line) {
    const std::vector<std::string> found = texts(query);
    CHECK(std::find(found.begin(), found.end(), line) != found.end());
    return found.size();
  };
  for (const std::string& line : lines) {
    CAPTURE(line);
    CHECK(finds({{"query", "|= " + quoted(line)}}, line) == 1);
    CHECK(finds({{"grep", escaped(line)}}, line) == 1);
    if (line.find('`') == std::string::npos) finds({{"query", "|= `" + line + "`"}}, line);
  }
  CHECK(texts({{"query", "|= " + quoted("end\ntwo")}}).empty());
}

}  // namespace logarithm::aggregator
