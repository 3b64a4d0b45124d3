#include <doctest/doctest.h>

#include "agent/follow/stream_writer.h"
#include "tests/unit/agent/follow/follow_fixture.h"

namespace logarithm::test {
namespace {

const std::string kSecret = "hf_" + std::string(34, 'A');

struct RedactingWriter {
  std::vector<RuleProblem> problems;
  std::shared_ptr<const RuleSet> rules = RuleSet::build(
      {{"r.yaml",
        "rules: [{name: t, redact: 'hf_[A-Za-z0-9]{20,}'}, {name: m, maps: process, match: "
        "'pid=(?P<pid>\\d+) rank=(?P<rank>\\d+)', fields: {pid: int, rank: int}}]"}},
      problems);
  LongLinePool long_lines;
  MemoryLog log;
  FollowStats stats;
  std::vector<MappedProcess> mapped;
  WriterParts parts{rules.get(),
                    long_lines,
                    log,
                    stats,
                    1u << 20,
                    std::chrono::seconds(1),
                    std::chrono::seconds(1),
                    MonotonicTime::max(),
                    mapped};
  WorkerPool pool{1};
  std::unique_ptr<StreamWriter> writer;

  RedactingWriter() {
    StreamCheckpoint from;
    from.attributes.process = "host/1/2";
    from.attributes.job = "llm";
    auto started = StreamWriter::start(parts, from, PrefixDigest(), {});
    REQUIRE(started.ok());
    writer = std::move(*started);
  }
  void feed(const std::string& bytes) {
    writer->feed(bytes, 1, {});
    const auto commit = [&](BlockingToken& token) { return writer->commit(token); };
    REQUIRE(pool.run_and_wait(commit).ok());
  }
  const StreamCheckpoint& stored() const { return log.streams.begin()->second.checkpoint; }
};

}  // namespace

TEST_CASE("Redaction: the stored head has no secret, and still fits the file") {
  RedactingWriter made;
  const std::string whole = "login " + kSecret + " done\n";
  const std::string half = "again " + kSecret;  // its line is not finished, nor looked at
  made.feed(whole + half);

  CHECK(made.stored().head.find("hf_") == std::string::npos);
  CHECK(made.stored().head.size() == whole.size());
  CHECK(fits_head(whole + half, made.stored().head));
  CHECK_FALSE(fits_head("logan " + whole.substr(6), made.stored().head));

  made.feed("B end\n");
  CHECK(made.stored().head.find("hf_") == std::string::npos);
  CHECK(made.stored().head.size() == whole.size() + half.size() + 6);
  for (const Line& line : made.log.streams.begin()->second.lines) {
    CHECK(line.raw.find("hf_") == std::string::npos);
  }
}

TEST_CASE("Redaction: a head that is read again from its file is masked") {
  RedactingWriter made;
  const std::string bytes = std::string(kHeadBytes - 10, 'x') + " " + kSecret + "\n";
  const std::string head = masked_head(*made.rules, bytes);
  CHECK(head.size() == kHeadBytes);
  CHECK(head.find("hf_") == std::string::npos);
}

TEST_CASE("Mapping lines: what a line said of a process leaves with its writer and job") {
  RedactingWriter made;
  made.feed("pid=48213 rank=3\n");
  REQUIRE(made.mapped.size() == 1);
  CHECK(made.mapped[0].mapping.pid == 48213);
  CHECK(made.mapped[0].mapping.rank == 3);
  CHECK(made.mapped[0].writer == "host/1/2");
  CHECK(made.mapped[0].job == "llm");
}

}  // namespace logarithm::test
