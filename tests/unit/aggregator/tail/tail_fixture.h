#pragma once

#include <doctest/doctest.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/query/filters.h"
#include "aggregator/store/range_set.h"
#include "aggregator/tail/tail_reader.h"
#include "common/async/worker_pool.h"
#include "tests/support/fake_job.h"

namespace logarithm::aggregator {

// "<stream>:<offset>" in place of JSON.
inline std::string encode_id(const Line& line, const StreamJoin& join) {
  return join.stream_text + ":" + std::to_string(line.offset);
}

inline Predicate filter(const std::string& name, const std::string& value) {
  ParamProblem problem;
  auto spec = parse_filters({{name, value}}, 0, problem);
  REQUIRE(spec.ok());
  return std::move(spec->predicate);
}

// A job that grows, and what tails of it get.
class TailJob {
 public:
  explicit TailJob(std::size_t streams) {
    for (std::size_t i = 0; i < streams; ++i) {
      StreamAttributes attributes;
      attributes.job = "j";
      attributes.name = "stdout";
      attributes.rank = static_cast<std::int32_t>(i);
      attributes.rank_source = "RANK";
      job->add_stream(StreamId{StreamBase{i + 1, 2}, 0}, {attributes});
    }
  }

  void store(std::size_t stream, const std::vector<Line>& lines) {
    StreamFacts& facts = job->facts()[stream];
    std::vector<Range> ranges = facts.ranges;
    job->add_block(stream, 0, lines);
    add_range(ranges, Range{lines.front().offset, lines.back().end()});
    facts.ranges = std::move(ranges);
  }

  // Lines "<word> <n>" from `first` on; time in nanoseconds.
  static std::vector<Line> lines(std::uint64_t first, int count, UnixNanos time,
                                 const std::string& word = "line") {
    std::vector<Line> out;
    for (int i = 0; i < count; ++i) {
      out.push_back(test::make_line(first, time + i, word + " " + std::to_string(i)));
      first = out.back().end();
    }
    return out;
  }

  TailReader::State step(TailReader& reader, std::size_t piece_bytes = 1u << 20) {
    return pool.run_and_wait([&](BlockingToken& token) {
      JobView view(JobKey{"default", "j"}, job);
      BlockLookup lookup(view);
      TailReader::Turn turn;
      turn.piece_bytes = piece_bytes;
      turn.time_is_up = [] { return false; };
      turn.now = now;
      auto state = reader.step(token, lookup, blocks, turn);
      LGR_ASSERT(state.ok());
      return *state;
    });
  }

  std::shared_ptr<test::FakeJob> job = std::make_shared<test::FakeJob>();
  MonotonicTime now{std::chrono::seconds(1000)};
  DecodedBlocks blocks{1u << 20, encode_id};
  WorkerPool pool{1};
};

// Offsets by stream, in the order in which they came.
class Received {
 public:
  void add(const std::string& ids) {
    std::istringstream words(ids);
    for (std::string id; std::getline(words, id, ',');) {
      const auto colon = id.rfind(':');
      streams[id.substr(0, colon)].push_back(std::stoull(id.substr(colon + 1)));
    }
  }
  std::size_t size() const {
    std::size_t out = 0;
    for (const auto& [stream, offsets] : streams) out += offsets.size();
    return out;
  }
  std::map<std::string, std::vector<std::uint64_t>> streams;
};

inline std::vector<std::uint64_t> offsets_of(const std::vector<Line>& lines) {
  std::vector<std::uint64_t> out;
  for (const Line& line : lines) out.push_back(line.offset);
  return out;
}

}  // namespace logarithm::aggregator
