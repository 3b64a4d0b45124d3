#pragma once

#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/fake_job.h"

namespace logarithm::test {

// The lines of a job of several streams with ranks, iterations, call sites and telemetry points
// (some NaN), and what the streams say of themselves. How they are cut into blocks comes later.
struct RandomJob {
  struct Stream {
    StreamId id;
    StreamAttributes attributes;
    std::vector<Line> lines;
  };
  std::vector<Stream> streams;

  explicit RandomJob(unsigned seed) : random_(seed) {
    const auto count = 1 + random_() % 5;
    for (std::size_t s = 0; s < count; ++s) streams.push_back(stream());
  }

  // Cut at random places: `seed` decides where.
  std::shared_ptr<FakeJob> cut(unsigned seed) const {
    std::mt19937 random(seed);
    auto job = std::make_shared<FakeJob>();
    for (const Stream& stream : streams) {
      const std::size_t index = job->add_stream(stream.id, {stream.attributes});
      for (std::size_t at = 0; at < stream.lines.size();) {
        const std::size_t size = std::min<std::size_t>(1 + random() % 15, stream.lines.size() - at);
        const auto begin = stream.lines.begin() + static_cast<std::ptrdiff_t>(at);
        job->add_block(index, 0, {begin, begin + static_cast<std::ptrdiff_t>(size)});
        at += size;
      }
      aggregator::StreamFacts& facts = job->facts()[index];
      facts.lacks_wrapper_ranks = true;
      for (const Line& line : stream.lines) {
        if (line.wrapper_rank) facts.lacks_wrapper_ranks = false;
        facts.first_time = std::min(facts.first_time.value_or(line.time), line.time);
        facts.last_time = std::max(facts.last_time.value_or(line.time), line.time);
        if (!line.iteration) continue;
        facts.last_iteration =
            std::max(facts.last_iteration.value_or(*line.iteration), *line.iteration);
      }
    }
    return job;
  }

 private:
  bool one_in(unsigned n) { return random_() % n == 0; }

  Stream stream() {
    Stream out;
    out.id = StreamId{StreamBase{random_(), random_()}, static_cast<std::uint32_t>(one_in(4))};
    StreamAttributes& attributes = out.attributes;
    attributes.job = "j";
    attributes.host = one_in(2) ? "n1" : "n2";
    attributes.name = one_in(2) ? "stdout" : one_in(2) ? "stderr" : "/x/y.log";
    if (!one_in(4)) {
      attributes.rank = static_cast<std::int32_t>(random_() % 4);
      attributes.rank_source = one_in(3) ? "path" : "RANK";
    }
    if (one_in(2)) attributes.attempt = static_cast<std::int32_t>(random_() % 2);
    std::uint64_t offset = 0;
    UnixNanos time = 1'000'000'000'000 + static_cast<UnixNanos>(random_() % 1000);
    std::int64_t iteration = static_cast<std::int64_t>(random_() % 30) - 5;
    for (auto n = random_() % 80; n > 0; --n) {
      time += static_cast<UnixNanos>(random_() % 700'000'000) - 50'000'000;
      if (one_in(3)) ++iteration;
      out.lines.push_back(line(offset, time, iteration));
      offset = out.lines.back().end();
    }
    return out;
  }

  Line line(std::uint64_t offset, UnixNanos time, std::int64_t iteration) {
    static const char* const kTexts[] = {
        "loaded batch 17 of /data/x", "step done", "waiting",
        "all_reduce took 12.5 ms",    "",          "bad \xFF byte"};
    Line out = make_line(offset, time, kTexts[random_() % std::size(kTexts)]);
    if (one_in(2)) out.severity = static_cast<Severity>(random_() % 7);
    if (one_in(3)) out.callsite = "train.py:" + std::to_string(random_() % 3);
    if (!one_in(4)) out.iteration = iteration;
    if (one_in(5)) out.wrapper_rank = static_cast<std::int32_t>(random_() % 4);
    if (one_in(7)) out.output = one_in(2) ? Output::out : Output::err;
    if (one_in(8)) out.flags |= line_flag::derived_fields;
    if (one_in(2)) out.meta.push_back({"loss", real(), !one_in(5)});
    if (one_in(3)) out.meta.push_back({"lr", real(), true});
    if (one_in(4)) out.meta.push_back({"tokens", std::int64_t(random_() % 5) << 40, one_in(2)});
    if (one_in(6)) out.meta.push_back({"loss", std::int64_t(random_() % 3), true});
    if (one_in(6)) out.meta.push_back({"rank", std::string(one_in(2) ? "three" : "two"), false});
    return out;
  }

  double real() {
    if (one_in(6)) return std::numeric_limits<double>::quiet_NaN();
    if (one_in(20)) return -std::numeric_limits<double>::infinity();
    return (static_cast<double>(random_() % 100000) - 30000) / 977;
  }

  std::mt19937 random_;
};

}  // namespace logarithm::test
