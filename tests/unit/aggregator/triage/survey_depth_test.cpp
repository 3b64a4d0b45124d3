#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "aggregator/triage/decide.h"
#include "aggregator/triage/gather.h"
#include "common/async/worker_pool.h"
#include "tests/support/fake_job.h"

namespace logarithm::aggregator::triage {
namespace {

constexpr UnixNanos kSecond = 1'000'000'000, kStart = 1'700'000'000 * kSecond;
constexpr int kIterations = 400;

// Ranks that say a loss, a batch and their memory in every iteration.
struct Job {
  std::int32_t ranks = 6;
  int iterations = kIterations;
  std::size_t block_lines = 400;
  struct Mark {
    std::int32_t rank = 0;
    int iteration = 0;
    std::string kind, klass;
  };
  std::vector<Mark> marks;
  std::optional<std::int32_t> nan_rank;
  int nan_from = 0;
  std::vector<std::int32_t> end_at;  // by rank; those left out go on to the end

  std::shared_ptr<test::FakeJob> make() const {
    auto job = std::make_shared<test::FakeJob>();
    for (std::int32_t rank = 0; rank < ranks; ++rank) add(*job, rank);
    return job;
  }

 private:
  void add(test::FakeJob& job, std::int32_t rank) const {
    StreamAttributes attributes;
    attributes.job = "made";
    attributes.name = "stderr";
    attributes.host = "n" + std::to_string(rank / 2);
    attributes.rank = rank;
    attributes.rank_source = "path";
    const StreamId id{StreamBase{99, static_cast<std::uint64_t>(rank)}, 0};
    const std::size_t index = job.add_stream(id, {attributes});
    std::vector<Line> lines;
    std::uint64_t offset = 0;
    const auto say = [&](const std::string& text, UnixNanos time, int iteration) -> Line& {
      lines.push_back(test::make_line(offset, time, text));
      offset = lines.back().end();
      lines.back().iteration = iteration;
      lines.back().severity = Severity::info;
      return lines.back();
    };
    std::vector<IterationStart> starts;
    for (int i = 0; i < iterations; ++i) {
      const UnixNanos at = kStart + i * kSecond + rank * 1'000'000;
      starts.push_back({at, i});
      say("iteration " + std::to_string(i) + " batch ready", at, i);
      Line& loss = say("iteration " + std::to_string(i) + " loss 2.5", at + 900'000'000, i);
      const bool nan = i >= nan_from && (nan_rank == rank || (nan_rank && i > nan_from));
      loss.meta.push_back({"loss", nan ? std::nan("") : 2.5 + i, true});
      say("memory " + std::to_string(i % 9), at + 910'000'000, i).flags |=
          line_flag::derived_iteration;
      for (const Mark& mark : marks) {
        if (mark.rank != rank || mark.iteration != i) continue;
        Line& line = say("RuntimeError: " + mark.kind, at + 950'000'000, i);
        line.severity = Severity::error;
        line.events.push_back({"rule", mark.kind, mark.klass});
      }
    }
    for (std::size_t at = 0; at < lines.size(); at += block_lines) {
      const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(at);
      const std::size_t size = std::min(block_lines, lines.size() - at);
      job.add_block(index, 0, {begin, begin + static_cast<std::ptrdiff_t>(size)});
    }
    job.starts[iteration_axis(attributes)] = starts;
  }
};

std::string told(const Verdict& verdict) {
  std::string out = verdict.verdict + " " + verdict.kind + " " + verdict.phase + "\n";
  out += verdict.summary + "\n";
  for (const Evidence& evidence : verdict.evidence) {
    out += evidence.klass + ": " + evidence.claim;
    for (const LineRef& line : evidence.lines) out += " " + std::to_string(line.offset);
    out += "\n";
  }
  return out;
}

struct Asked {
  Facts facts;
  std::string verdict;
};

Asked ask(const std::shared_ptr<test::FakeJob>& job, SurveyCache& cache, std::uint64_t whole) {
  WorkerPool pool(1);
  return pool.run_and_wait([&](BlockingToken& token) {
    JobView view(JobKey{"default", "made"}, job);
    GatherOptions options;
    options.now = kStart + 10'000 * kSecond;
    options.lines.whole = whole;
    Gatherer gatherer(view, nullptr, cache, options);
    auto done = gatherer.step(token, [] { return false; });
    REQUIRE_MESSAGE(done.ok(), done.error().to_string());
    return Asked{gatherer.facts(), told(decide(gatherer.facts()))};
  });
}

constexpr std::uint64_t kAll = 1'000'000'000, kFew = 1;  // then kFewest of each stream

Asked ask(const Job& job, std::uint64_t whole) {
  SurveyCache cache(1u << 30);
  return ask(job.make(), cache, whole);
}

std::vector<Job> jobs() {
  std::vector<Job> out(5);
  // One fails at the end, the others because of it.
  out[1].marks.push_back({3, kIterations - 1, "exception", "root"});
  for (const int other : {0, 1, 2, 4, 5}) {
    out[1].marks.push_back({other, kIterations - 1, "peer_lost", "cascade"});
  }
  // One has trouble at the beginning and in the middle, and goes on.
  out[2].marks.push_back({3, 5, "exception", "root"});
  out[2].marks.push_back({4, 180, "exception", "root"});
  // A loss becomes NaN on one rank first, long before the end.
  out[3].nan_rank = 4;
  out[3].nan_from = 150;
  // Both.
  out[4] = out[1];
  out[4].marks.push_back({2, 100, "exception", "root"});
  return out;
}

}  // namespace

TEST_CASE("Triage: the newest lines and those around marks give the verdict that all lines give") {
  for (const std::size_t block_lines : {70u, 300u, 1'000u, 5'000u}) {
    std::size_t number = 0;
    for (Job job : jobs()) {
      CAPTURE(block_lines);
      CAPTURE(number++);
      job.block_lines = block_lines;
      CHECK(ask(job, kFew).verdict == ask(job, kAll).verdict);
    }
  }
}

TEST_CASE("Triage: the lines of a long job are counted, and its longest step is known") {
  Job job;
  const Asked few = ask(job, kFew), all = ask(job, kAll);
  REQUIRE(few.facts.ranks.size() == all.facts.ranks.size());
  for (std::size_t i = 0; i < few.facts.ranks.size(); ++i) {
    const RankFacts &a = few.facts.ranks[i], &b = all.facts.ranks[i];
    CHECK(a.lines == b.lines);
    CHECK(a.first_time == b.first_time);
    CHECK(a.last_time == b.last_time);
    CHECK(a.iterations == b.iterations);
    CHECK(a.tail.size() == b.tail.size());
  }
}

TEST_CASE("Triage: what is remembered of blocks changes no answer") {
  for (const Job& job : jobs()) {
    for (const std::uint64_t whole : {kFew, std::uint64_t{3000}, kAll}) {
      const auto made = job.make();
      SurveyCache large(1u << 30), small(20'000);
      const std::string first = ask(made, large, whole).verdict;
      CHECK(ask(made, large, whole).verdict == first);
      CHECK(ask(made, small, whole).verdict == first);
      CHECK(ask(made, small, whole).verdict == first);
      // Filled by questions that looked at other lines of the same blocks.
      ask(made, large, whole == kFew ? kAll : kFew);
      CHECK(ask(made, large, whole).verdict == first);
    }
  }
}

TEST_CASE("Triage: of blocks without marks that are not the newest, only headers are read") {
  Job job;
  job.block_lines = 100;
  const auto made = job.make();
  SurveyCache cache(1u << 30);
  ask(made, cache, kFew);
  // Of each rank's 12 blocks the three newest hold 256 lines and more.
  CHECK(made->blocks_read == 3 * job.ranks);
}

}  // namespace logarithm::aggregator::triage
