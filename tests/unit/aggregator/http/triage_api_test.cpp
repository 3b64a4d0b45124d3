// GET …/triage: the names of the contract, attempts, and what is refused.
#include <doctest/doctest.h>

#include "tests/unit/aggregator/http/api_fixture.h"

namespace logarithm::aggregator {
namespace {

// Three ranks that lose rank 1 at iteration 10.
struct BrokenFixture : ApiFixture {
  std::shared_ptr<test::FakeJob> run = storage.add("run");

  BrokenFixture() {
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      StreamAttributes attributes;
      attributes.job = "run";
      attributes.name = "stderr";
      attributes.host = "n1";
      attributes.rank = rank;
      attributes.attempt = 3;
      const StreamId id{StreamBase{9, static_cast<std::uint64_t>(rank)}, 0};
      const std::size_t index = run->add_stream(id, {attributes});
      std::vector<Line> lines;
      std::uint64_t offset = 0;
      const auto say = [&](UnixNanos time, const std::string& text) -> Line& {
        lines.push_back(test::make_line(offset, time, text));
        offset = lines.back().end();
        return lines.back();
      };
      for (int i = 0; i <= 10; ++i) say(at(i), "step " + std::to_string(i)).iteration = i;
      Line& last =
          say(at(11) + (rank == 1 ? 0 : 500'000'000), rank == 1 ? "ValueError: x" : "lost");
      last.severity = Severity::error;
      last.iteration = 10;
      last.flags |= line_flag::derived_iteration;
      last.events.push_back(rank == 1 ? EventMark{"python-exception", "exception", "root"}
                                      : EventMark{"peer-closed", "peer_lost", "cascade"});
      run->add_block(index, 0, lines);
      run->facts()[index].closed = wire::Closed{id, "run", offset, "exited"};
    }
  }
  static UnixNanos at(int second) { return UnixNanos{1'000'000'000} * (second + 1) + 123'456'789; }
};

TEST_CASE_FIXTURE(BrokenFixture, "GET triage: who was first, with the line that shows it") {
  const ApiAnswer answer = get("/api/v1/jobs/run/triage");

  REQUIRE(answer.status == 200);
  INFO(answer.body);
  const json got = answer.parsed();
  CHECK(got["job"] == "run");
  CHECK(got["attempt"] == 3);
  CHECK(got["verdict"] == "failed");
  CHECK(got["kind"] == "exception");
  CHECK(got["phase"] == "training");
  CHECK(got["first"]["ranks"] == json::array({1}));
  CHECK(got["first"]["host"] == "n1");
  CHECK(got["first"]["iteration"] == 10);
  CHECK(got["first"]["certain"] == true);
  CHECK(got["first"]["margin_ms"].get<double>() == doctest::Approx(500).epsilon(0.01));
  CHECK(got["cascade"] == json({{"ranks", "0,2"}, {"count", 2}}));
  REQUIRE(got["evidence"].size() >= 2);
  CHECK(got["evidence"][0]["class"] == "root");
  CHECK(got["evidence"][0]["rank"] == 1);
  CHECK(got["evidence"][0]["text"] == "ValueError: x");
  CHECK(got["silent"].empty());
  CHECK(got["completeness"]["complete"] == true);
  CHECK(got["summary"].get<std::string>().find("rank 1") != std::string::npos);
  CHECK(get("/api/v1/jobs/run/triage").body == answer.body);
}

TEST_CASE_FIXTURE(BrokenFixture, "GET triage: first has all its names, null where unknown") {
  for (auto& facts : run->facts()) {
    for (StreamAttributes& version : facts.versions) version.host.clear();
  }
  const json first = get("/api/v1/jobs/run/triage").parsed()["first"];
  REQUIRE(first.is_object());
  for (const char* name :
       {"ranks", "host", "iteration", "time", "certain", "margin_ms", "error_ms"})
    CHECK(first.contains(name));
  CHECK(first["host"].is_null());
}

TEST_CASE_FIXTURE(
    BrokenFixture,
    "GET triage: what Python printed and passed over is no failure and no last word") {
  // Rank 1's exception is that of a destructor: it and its peers had said that they are done.
  auto whole = storage.add("done");
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    StreamAttributes attributes;
    attributes.job = "done";
    attributes.name = "stderr";
    attributes.rank = rank;
    const StreamId id{StreamBase{10, static_cast<std::uint64_t>(rank)}, 0};
    const std::size_t index = whole->add_stream(id, {attributes});
    std::vector<Line> lines;
    std::uint64_t offset = 0;
    const auto say = [&](const std::string& text) -> Line& {
      lines.push_back(test::make_line(offset, at(20), text));
      offset = lines.back().end();
      return lines.back();
    };
    say("training finished");
    for (int round = 0; round < 9; ++round) {
      Line& head = say("Exception ignored in: <function Loader.__del__ at 0x7f>");
      head.events.push_back({"python-ignored", "exception_ignored", "teardown"});
      const std::uint64_t record = head.offset;
      say("Traceback (most recent call last):").head = record;
      if (rank == 1 && round == 8) {  // the rest is in another block
        whole->add_block(index, 0, lines);
        lines.clear();
      }
      Line& last = say("AttributeError: foo");
      last.head = record;
      last.events.push_back({"python-exception", "exception", "root"});
    }
    for (Line& line : lines) {
      if (line.raw != "training finished") line.severity = Severity::error;
    }
    whole->add_block(index, 0, lines);
  }
  const ApiAnswer answer = get("/api/v1/jobs/done/triage");
  INFO(answer.body);
  CHECK(answer.parsed()["verdict"] == "healthy");
  CHECK(answer.parsed()["evidence"].empty());
}

TEST_CASE_FIXTURE(ApiFixture, "GET triage: a last word that no template tells is read") {
  for (const bool saves : {true, false}) {
    CAPTURE(saves);
    auto run = storage.add(saves ? "saves" : "waits");
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      StreamAttributes attributes;
      attributes.job = saves ? "saves" : "waits";
      attributes.name = "stderr";
      attributes.rank = rank;
      const StreamId id{StreamBase{11, static_cast<std::uint64_t>(rank)}, 0};
      std::vector<Line> lines;
      for (int i = 0; i <= 10; ++i) {
        lines.push_back(test::make_line(lines.empty() ? 0 : lines.back().end(),
                                        BrokenFixture::at(i), "step " + std::to_string(i)));
        lines.back().iteration = i;
      }
      if (rank == 0) {
        lines.push_back(
            test::make_line(lines.back().end(), BrokenFixture::at(14),
                            saves ? "saved checkpoint 10 in 4.4 s" : "reading shard 10 of 44"));
      }
      run->add_block(run->add_stream(id, {attributes}), 0, lines);
    }

    const json got =
        get(saves ? "/api/v1/jobs/saves/triage" : "/api/v1/jobs/waits/triage").parsed();

    CHECK(got["phase"] == (saves ? "checkpoint" : "training"));
    CHECK(got["verdict"] == (saves ? "healthy" : "hung"));
  }
}

TEST_CASE_FIXTURE(BrokenFixture, "GET triage: an attempt can be named, and must exist") {
  CHECK(get("/api/v1/jobs/run/triage", {{"attempt", "3"}}).status == 200);
  CHECK(get("/api/v1/jobs/run/triage", {{"attempt", "4"}}).status == 404);
  CHECK(get("/api/v1/jobs/run/triage", {{"attempt", "x"}}).status == 400);
  CHECK(get("/api/v1/jobs/run/triage", {{"rank", "1"}}).status == 400);
  CHECK(get("/api/v1/jobs/nobody/triage").status == 404);
}

}  // namespace
}  // namespace logarithm::aggregator
