#include "aggregator/query/attempt_by_time.h"

#include <doctest/doctest.h>

#include "aggregator/query/job_view.h"
#include "tests/support/fake_job.h"

namespace logarithm::aggregator {
namespace {

ProcessFacts process(std::int32_t pid, std::int32_t attempt, UnixNanos start,
                     std::optional<UnixNanos> exit, UnixNanos last_seen = 0) {
  ProcessFacts out;
  out.info.host = "h";
  out.info.pid = pid;
  out.info.start = start;
  out.info.exit = exit;
  out.info.last_seen = last_seen;
  out.attempt = attempt;
  return out;
}

StreamFacts stream(std::optional<UnixNanos> first, std::optional<UnixNanos> last) {
  StreamFacts out;
  out.first_time = first;
  out.last_time = last;
  return out;
}

constexpr UnixNanos kSecond = 1'000'000'000;

const std::vector<ProcessFacts> kTwoAttempts = {
    process(1, 0, 100 * kSecond, 200 * kSecond), process(2, 0, 110 * kSecond, 260 * kSecond),
    process(3, 1, 300 * kSecond, std::nullopt, 400 * kSecond)};

std::optional<std::int32_t> by_time(UnixNanos first, UnixNanos last) {
  return attempt_by_time(stream(first * kSecond, last * kSecond), attempt_lives(kTwoAttempts));
}

TEST_CASE("Attempt by time: the one whose processes lived while the lines were written") {
  CHECK(by_time(150, 150) == 0);
  CHECK(by_time(250, 290) == 0);
  CHECK(by_time(390, 500) == 1);
}

TEST_CASE("Attempt by time: lines that were seen only after the end") {
  CHECK(by_time(270, 270) == 0);
  CHECK(by_time(410, 410) == 1);
}

TEST_CASE("Attempt by time: unknown when none or several did, or nothing was written") {
  CHECK(!by_time(276, 290));
  CHECK(!by_time(416, 500));
  CHECK(!by_time(150, 350));
  CHECK(!attempt_by_time(stream(std::nullopt, std::nullopt), attempt_lives(kTwoAttempts)));
  CHECK(!attempt_by_time(stream(1, 2), {}));
}

TEST_CASE("Attempt by time: a view gives it only to streams that nobody states an attempt of") {
  test::FakeJob job;
  const auto add = [&](std::uint64_t id, std::string process, std::optional<std::int32_t> stated) {
    StreamAttributes attributes;
    attributes.process = std::move(process);
    attributes.attempt = stated;
    const std::size_t at = job.add_stream(StreamId{StreamBase{1, id}, 0}, {attributes});
    job.facts()[at].first_time = job.facts()[at].last_time = 320 * kSecond;
  };
  for (const ProcessFacts& one : kTwoAttempts) job.add_process(one);
  add(1, "", std::nullopt);
  add(2, "", 7);
  add(3, kTwoAttempts[0].info.key(), std::nullopt);
  add(4, "h/9/9", std::nullopt);  // its facts are still to come

  const JobView view({"default", "j"}, std::make_shared<test::FakeJob>(job));

  CHECK(view.joins(0).front().attempt == 1);
  CHECK(view.joins(1).front().attempt == 7);
  CHECK(view.joins(2).front().attempt == 0);
  CHECK(!view.joins(3).front().attempt);
}

TEST_CASE("Attempt by time: a file that several ranks share has the attempt of those who held it") {
  test::FakeJob job;
  StreamAttributes first, second;
  first.run_of = kTwoAttempts[0].info.key();
  second.version = 1;
  second.from = 500;
  second.run_of = kTwoAttempts[2].info.key();
  const std::size_t at = job.add_stream(StreamId{StreamBase{1, 1}, 0}, {first, second});
  job.facts()[at].first_time = 110 * kSecond;  // over both attempts: the time tells nothing
  job.facts()[at].last_time = 390 * kSecond;
  for (ProcessFacts one : kTwoAttempts) {
    one.info.rank = 3;
    job.add_process(one);
  }

  const JobView view({"default", "j"}, std::make_shared<test::FakeJob>(job));

  CHECK(view.join_at(0, 0)->attempt == 0);
  CHECK(view.join_at(0, 500)->attempt == 1);
  CHECK(!view.join_at(0, 500)->rank);
  CHECK(!view.join_at(0, 500)->rank_is_fixed);
}

}  // namespace
}  // namespace logarithm::aggregator
