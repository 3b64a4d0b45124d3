#include "aggregator/query/scanner.h"
#include "aggregator/query/counter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "aggregator/query/filters.h"
#include "aggregator/query/match.h"
#include "common/async/worker_pool.h"
#include "tests/support/fake_job.h"

namespace logarithm::aggregator {
namespace {

using test::FakeJob;
using test::make_line;

StreamAttributes attributes(std::uint32_t version, std::uint64_t from, std::string host,
                            std::string name, std::optional<std::int32_t> rank) {
  StreamAttributes out;
  out.version = version;
  out.from = from;
  out.job = "j";
  out.host = std::move(host);
  out.name = std::move(name);
  out.rank = rank;
  out.rank_source = rank ? "RANK" : "";
  return out;
}

template <typename T>
const T& pick(std::mt19937& random, const std::vector<T>& choices) {
  return choices[random() % choices.size()];
}

Line random_line(std::mt19937& random, std::uint64_t offset, UnixNanos time) {
  static const std::vector<std::string> kWords = {"loss",
                                                  "grad_norm",
                                                  "nan",
                                                  "rank 3",
                                                  "x=12",
                                                  "error",
                                                  "timeout",
                                                  "\"a b\"",
                                                  "0xff",
                                                  "/tmp/f.log",
                                                  "\xC3\xA9t\xC3\xA9",
                                                  "\xFF\xFE",
                                                  "step",
                                                  "12.5",
                                                  "NCCL",
                                                  "iteration"};
  std::string text;
  for (auto n = random() % 6; n > 0; --n) text += pick(random, kWords) + (n > 1 ? " " : "");
  const auto begin = static_cast<std::uint32_t>(random() % 3 == 0 ? random() % 8 : 0);
  Line line = make_line(offset, time, text, begin);
  line.header_begin = line.body_begin / 2;
  if (random() % 2 == 0) line.severity = static_cast<Severity>(random() % 7);
  if (random() % 3 == 0) line.callsite = random() % 2 == 0 ? "a.py:1" : "b.py:22";
  if (random() % 2 == 0) line.iteration = static_cast<std::int64_t>(random() % 5);
  if (random() % 4 == 0) line.wrapper_rank = static_cast<std::int32_t>(random() % 4);
  if (random() % 5 == 0) line.output = random() % 2 == 0 ? Output::out : Output::err;
  if (random() % 6 == 0) line.flags |= line_flag::glued;
  if (random() % 9 == 0) {
    line.flags |= line_flag::progress;
    line.terminator = Terminator::cr;
  }
  if (random() % 3 == 0) {
    line.meta.push_back({"loss",
                         random() % 4 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                           : static_cast<double>(random() % 10) / 2,
                         false});
  }
  if (random() % 4 == 0) line.meta.push_back({"step", std::int64_t(random() % 5), false});
  if (random() % 7 == 0) line.meta.push_back({"step", std::string("two"), false});
  return line;
}

// What its process was in, plainly. Not by what its own stream alone says behind it.
void derive(Line& line, const std::vector<IterationStart>& starts, const std::vector<Line>& own) {
  std::optional<IterationStart> newest;
  for (const IterationStart& start : starts) {
    std::optional<std::uint64_t> first;
    UnixNanos time = INT64_MAX;
    for (const Line& other : own) {
      if (other.iteration != start.iteration || other.has(line_flag::derived_iteration)) continue;
      if (!first) first = other.offset;
      time = std::min(time, other.time);
    }
    if (first && *first > line.offset && time <= start.time) continue;
    if (start.time <= line.time && (!newest || *newest < start)) newest = start;
  }
  if (line.iteration || !newest) return;
  line.iteration = newest->iteration;
  line.flags |= line_flag::derived_iteration;
}

// Streams with several blocks each, overlapping in time, with many equal times.
std::shared_ptr<FakeJob> random_job(std::mt19937& random, std::vector<std::vector<Line>>& all) {
  auto job = std::make_shared<FakeJob>();
  const std::vector<std::string> kNames = {"stdout", "stderr", "/var/log/x.log"};
  for (auto n = random() % 4; n > 0; --n) {
    job->starts["p0"].push_back(
        {995 + static_cast<UnixNanos>(random() % 30), static_cast<std::int64_t>(random() % 5)});
  }
  const auto streams = 1 + random() % 4;
  for (std::size_t s = 0; s < streams; ++s) {
    std::vector<StreamAttributes> versions;
    std::optional<std::int32_t> rank;
    if (random() % 3 != 0) rank = static_cast<std::int32_t>(random() % 4);
    versions.push_back(
        attributes(0, 0, random() % 2 == 0 ? "n1" : "n2", pick(random, kNames), rank));
    if (random() % 2 == 0) versions.back().attempt = static_cast<std::int32_t>(random() % 2);
    const std::string process = random() % 2 == 0 ? "" : random() % 2 == 0 ? "p0" : "p1";
    versions.back().process = process;
    const std::size_t index =
        job->add_stream(StreamId{StreamBase{random(), random()}, 0}, std::move(versions));
    all.emplace_back();
    std::uint64_t offset = 0;
    UnixNanos time = 1000 + static_cast<UnixNanos>(random() % 20);
    for (auto b = random() % 4; b > 0; --b) {
      std::vector<Line> lines;
      for (auto n = 1 + random() % 12; n > 0; --n) {
        time += static_cast<UnixNanos>(random() % 4) - 1;
        lines.push_back(random_line(random, offset, time));
        offset = lines.back().end();
      }
      job->add_block(index, 0, lines);
      all.back().insert(all.back().end(), lines.begin(), lines.end());
    }
    for (const Line& line : all.back()) {
      auto& last = job->facts()[index].last_iteration;
      if (line.iteration) last = std::max(last.value_or(*line.iteration), *line.iteration);
    }
    if (!process.empty()) {
      const std::vector<Line> own = all.back();
      for (Line& line : all.back()) derive(line, job->starts[process], own);
    }
  }
  return job;
}

Params random_query(std::mt19937& random) {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> kChoices = {
      {"rank", {"0", "1-2", "3,0", "9"}},
      {"attempt", {"0", "1"}},
      {"iteration", {"2", "1..3", "3..", "..1"}},
      {"severity", {"error", "info", "trace"}},
      {"grep",
       {"loss", "grad_norm", " nan ", "x=12 ", "time.ut", " error loss", "\\x{FFFD}", "(?i)LOSS"}},
      {"not_grep", {"loss", "^$", "nan"}},
      {"callsite", {"a.py:1", "c.py:9"}},
      {"not_callsite", {"a.py:1"}},
      {"stream", {"stdout", "stderr", "/var/log/x.log"}},
      {"host", {"n1", "n2", "n3"}},
      {"start", {"1005", "1010"}},
      {"end", {"1012", "1020"}},
      {"query",
       {R"({severity="error"})",
        R"(|= " grad_norm ")",
        R"(|= "loss" |= "nan")",
        R"(| loss == NaN)",
        R"(| loss > 2 or step == 3)",
        R"({step="two"})",
        R"(!= " loss ")",
        R"({rank!="2"} | step >= 2)",
        R"({flags="glued"})",
        R"({flags="derived_iteration"})",
        R"({callsite=~"a.*|", host!="n1"})",
        R"(| iteration < 3 and severity != "info")",
        R"({stream!~"std.*"})",
        R"({rank=""})",
        R"(| iteration != 2)",
        R"({text=~".*12 .*"})",
        R"(|= "été")",
        R"(|= "\ufffd")",
        R"({iteration=""} | loss != NaN)",
        R"q(|~ "rank 3 (x|e)")q",
        R"({missing="" , loss!=""})"}},
  };
  Params out;
  for (auto n = random() % 4; n > 0; --n) {
    const auto& [name, values] = pick(random, kChoices);
    out.emplace_back(name, pick(random, values));
  }
  return out;
}

ScanPlan plan_of(const Params& params, Direction direction) {
  ParamProblem trouble;
  auto spec = parse_filters(params, 0, trouble);
  REQUIRE_MESSAGE(spec.ok(), trouble.parameter);
  ScanPlan plan;
  plan.predicate = std::move(spec->predicate);
  plan.start = spec->start;
  plan.end = spec->end;
  plan.direction = direction;
  return plan;
}

std::vector<OrderKey> keys_of(const std::vector<QueryLine>& rows) {
  std::vector<OrderKey> out;
  for (const QueryLine& row : rows) out.push_back(key_of(row));
  return out;
}

// What the answer must be, by looking at every line.
std::vector<OrderKey> expected_keys(const JobView& view, const std::vector<std::vector<Line>>& all,
                                    const ScanPlan& plan) {
  std::vector<OrderKey> out;
  for (std::size_t s = 0; s < all.size(); ++s) {
    for (const Line& line : all[s]) {
      const OrderKey key{line.time, view.snapshot().streams()[s].id, line.offset};
      Row row(line, view.joins(s).front());
      if (in_plan(plan, key) && matches(plan.predicate, row)) out.push_back(key);
    }
  }
  std::sort(out.begin(), out.end());
  if (plan.direction == Direction::backward) std::reverse(out.begin(), out.end());
  return out;
}

std::vector<OrderKey> scan_all(BlockingToken& token, JobView& view, const ScanPlan& plan,
                               ScanLimits limits, std::size_t rows_a_turn) {
  Scanner scanner(view, plan, limits);
  std::vector<QueryLine> rows;
  ScanTurn turn;
  turn.max_rows = rows_a_turn;
  while (true) {
    auto state = scanner.next(token, turn, rows);
    REQUIRE_MESSAGE(state.ok(), state.error().to_string());
    if (*state == ScanState::finished) return keys_of(rows);
  }
}

template <typename Test>
void on_worker(Test test) {
  WorkerPool pool(1);
  pool.run_and_wait([&](BlockingToken& token) {
    test(token);
    return 0;
  });
}

}  // namespace

TEST_CASE("Scanner: pruned answers equal unpruned ones and the plain definition") {
  on_worker([](BlockingToken& token) {
    for (unsigned seed = 1; seed <= 400; ++seed) {
      CAPTURE(seed);
      std::mt19937 random(seed);
      std::vector<std::vector<Line>> all;
      JobView view(JobKey{"default", "j"}, random_job(random, all));
      for (int i = 0; i < 8; ++i) {
        const Params params = random_query(random);
        for (const auto& [name, value] : params) INFO(name, "=", value);
        const auto direction = random() % 2 == 0 ? Direction::forward : Direction::backward;
        const ScanPlan plan = plan_of(params, direction);
        const auto expected = expected_keys(view, all, plan);
        ScanLimits limits;
        const auto pruned = scan_all(token, view, plan, limits, 1 + random() % 50);
        limits.prune = false;
        CHECK(scan_all(token, view, plan, limits, 1000) == expected);
        CHECK(pruned == expected);

        Counter counter(view, plan);
        auto counted = counter.next(token, {});
        REQUIRE(counted.ok());
        CHECK(counter.count() == expected.size());
      }
    }
  });
}

TEST_CASE("Scanner: a line without an iteration gets that of its process, from its other streams") {
  auto job = std::make_shared<FakeJob>();
  StreamAttributes err = attributes(0, 0, "n1", "stderr", 0);
  err.process = "n1/7/9";
  job->add_stream(StreamId{StreamBase{1, 1}, 0}, {err});
  job->starts["n1/7/9"] = {{1000, 60}, {500, 59}};
  std::vector<Line> lines;
  for (const UnixNanos time : {400, 500, 999, 1000, 5000}) {
    lines.push_back(make_line(lines.empty() ? 0 : lines.back().end(), time, "Traceback"));
  }
  job->add_block(0, 0, lines);
  JobView view(JobKey{"default", "j"}, job);
  WorkerPool pool(1);

  const auto found = [&](const std::string& iteration) {
    return pool.run_and_wait([&](BlockingToken& token) {
      Scanner scanner(view, plan_of({{"iteration", iteration}}, Direction::forward), ScanLimits());
      std::vector<QueryLine> rows;
      REQUIRE(scanner.next(token, ScanTurn(), rows).ok());
      for (const QueryLine& row : rows) CHECK(row.line.has(line_flag::derived_iteration));
      return rows.size();
    });
  };
  CHECK(found("60..") == 2);
  CHECK(found("59") == 2);
  CHECK(found("..58") == 0);
}

TEST_CASE("Scanner: a tight memory bound changes no answer") {
  on_worker([](BlockingToken& token) {
    for (unsigned seed = 1; seed <= 100; ++seed) {
      CAPTURE(seed);
      std::mt19937 random(seed);
      std::vector<std::vector<Line>> all;
      JobView view(JobKey{"default", "j"}, random_job(random, all));
      const auto direction = seed % 2 == 0 ? Direction::forward : Direction::backward;
      const ScanPlan plan = plan_of({}, direction);
      ScanLimits limits;
      limits.memory = 2000;
      limits.keep = 1 + seed % 5;
      CHECK(scan_all(token, view, plan, limits, 7) == expected_keys(view, all, plan));
    }
  });
}

TEST_CASE("Scanner: of many blocks that overlap in time no line is decoded twice") {
  on_worker([](BlockingToken& token) {
    constexpr int kBlocks = 100, kLines = 300;
    const auto job = std::make_shared<FakeJob>();
    for (std::uint64_t s = 0; s < kBlocks; ++s) {
      const std::size_t index = job->add_stream(StreamId{StreamBase{s, s}, 0},
                                                {attributes(0, 0, "n1", "stdout", std::nullopt)});
      std::uint64_t offset = 0;
      std::vector<Line> lines;
      for (int i = 0; i < kLines; ++i) {
        lines.push_back(make_line(offset, 1000 + i, "a line of some length, of a clock step", 0));
        offset = lines.back().end();
      }
      job->add_block(index, 0, lines);
    }
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      JobView view(JobKey{"default", "j"}, job);
      ScanLimits limits;
      limits.memory = 12u << 20;
      Scanner scanner(view, plan_of({}, direction), limits);
      std::vector<QueryLine> rows;
      while (true) {
        const auto state = scanner.next(token, ScanTurn{}, rows);
        REQUIRE(state.ok());
        if (*state == ScanState::finished) break;
      }
      CHECK(rows.size() == kBlocks * kLines);
      CHECK(scanner.stats().lines == kBlocks * kLines);
      CHECK(scanner.stats().decoded > kBlocks);
    }
  });
}

TEST_CASE("Scanner: pages by cursor union to the whole answer, both ways") {
  on_worker([](BlockingToken& token) {
    for (unsigned seed = 1; seed <= 100; ++seed) {
      CAPTURE(seed);
      std::mt19937 random(seed);
      std::vector<std::vector<Line>> all;
      JobView view(JobKey{"default", "j"}, random_job(random, all));
      ScanPlan plan =
          plan_of(random_query(random), seed % 2 == 0 ? Direction::forward : Direction::backward);
      const auto expected = expected_keys(view, all, plan);
      std::vector<OrderKey> got;
      while (true) {
        ScanLimits limits;
        limits.keep = 3;
        Scanner scanner(view, plan, limits);
        ScanTurn turn;
        turn.max_rows = 3;
        std::vector<QueryLine> rows;
        REQUIRE(scanner.next(token, turn, rows).ok());
        if (rows.empty()) break;
        for (const OrderKey& key : keys_of(rows)) got.push_back(key);
        plan.after = got.back();
      }
      CHECK(got == expected);
    }
  });
}

TEST_CASE("Scanner: a word that lies in no block's template or variable reads no block") {
  on_worker([](BlockingToken& token) {
    auto job = std::make_shared<FakeJob>();
    // Of no rank: lines of a rank may have the iteration of its other files.
    StreamAttributes facts = attributes(0, 0, "n1", "stdout", 0);
    facts.rank.reset();
    const std::size_t stream = job->add_stream(StreamId{StreamBase{1, 1}, 0}, {facts});
    std::vector<Line> lines;
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t offset = lines.empty() ? 0 : lines.back().end();
      lines.push_back(make_line(offset, i, "step " + std::to_string(i) + " done in host-a"));
    }
    job->add_block(stream, 0, lines);
    JobView view(JobKey{"default", "j"}, job);
    ScanLimits limits;
    CHECK(scan_all(token, view, plan_of({{"query", R"(|= " vanished ")"}}, Direction::forward),
                   limits, 10)
              .empty());
    CHECK(job->blocks_read == 0);
    CHECK(scan_all(token, view, plan_of({{"rank", "5"}}, Direction::forward), limits, 10).empty());
    CHECK(scan_all(token, view, plan_of({{"iteration", "5"}}, Direction::forward), limits, 10)
              .empty());
    CHECK(job->blocks_read == 0);
    CHECK(scan_all(token, view, plan_of({{"query", R"(|= " done ")"}}, Direction::forward), limits,
                   10)
              .size() == 100);
  });
}

TEST_CASE("Scanner: a damaged block is left out and noted, the others are answered") {
  on_worker([](BlockingToken& token) {
    for (unsigned seed = 1; seed <= 100; ++seed) {
      CAPTURE(seed);
      std::mt19937 random(seed);
      auto job = std::make_shared<FakeJob>();
      const StreamId id{StreamBase{1, 1}, 0};
      const std::size_t stream = job->add_stream(id, {attributes(0, 0, "n1", "stdout", 0)});
      std::vector<std::vector<Line>> kept(1);
      std::uint64_t offset = 0, hurt_first = 0;
      const auto hurt = random() % 3;
      for (std::size_t b = 0; b < 3; ++b) {
        std::vector<Line> lines;
        const std::uint64_t first = offset;
        for (int i = 0; i < 10; ++i) {
          lines.push_back(make_line(offset, static_cast<UnixNanos>(offset), "x step"));
          offset = lines.back().end();
        }
        job->add_block(stream, 0, lines);
        if (b == hurt) {
          hurt_first = first;
        } else {
          kept[0].insert(kept[0].end(), lines.begin(), lines.end());
        }
      }
      // Behind the fixed part, whose version and lengths are judged before the checksum.
      job->damage_block(hurt, 64 + random() % (job->block_size(hurt) - 64));
      const auto direction = seed % 2 == 0 ? Direction::forward : Direction::backward;
      const ScanPlan plan = plan_of({{"grep", "st.p"}}, direction);

      JobView view(JobKey{"default", "j"}, job);
      CHECK(scan_all(token, view, plan, ScanLimits(), 7) == expected_keys(view, kept, plan));
      CHECK(view.damage().lines == 10);
      REQUIRE(view.damage().blocks.size() == 1);
      CHECK(view.damage().blocks.begin()->second == hurt_first);

      JobView counted(JobKey{"default", "j"}, job);
      Counter counter(counted, plan);
      REQUIRE(counter.next(token, {}).ok());
      CHECK(counter.count() == 20);
      CHECK(counted.damage().lines == 10);
    }
  });
}

TEST_CASE("Scanner: a turn whose time is up gives what it has and goes on later") {
  on_worker([](BlockingToken& token) {
    std::mt19937 random(7);
    std::vector<std::vector<Line>> all;
    JobView view(JobKey{"default", "j"}, random_job(random, all));
    const ScanPlan plan = plan_of({}, Direction::forward);
    Scanner scanner(view, plan, ScanLimits());
    std::vector<QueryLine> rows;
    ScanTurn turn;
    int asked = 0;
    turn.time_is_up = [&] { return ++asked % 2 == 0; };
    for (int turns = 0; turns < 1000; ++turns) {
      auto state = scanner.next(token, turn, rows);
      REQUIRE(state.ok());
      if (*state == ScanState::finished) break;
    }
    CHECK(keys_of(rows) == expected_keys(view, all, plan));
  });
}

}  // namespace logarithm::aggregator
