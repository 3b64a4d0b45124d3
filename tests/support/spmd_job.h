#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/fake_job.h"

namespace logarithm::test {

// A made-up SPMD job in memory: every rank prints the same templates an iteration, rank 0 a little
// more, the last pipeline stage the loss. For comparisons, which look at nothing else.
struct SpmdJob {
  std::int32_t ranks = 8;
  int iterations = 40;
  int stages = 1;  // pipeline stages; ranks of one stage are neighbours
  bool ended = true;
  std::size_t block_lines = 200;

  struct Extra {
    std::int32_t rank = 0;
    int iteration = 0;
    std::string text;
    Severity severity = Severity::info;
  };
  std::vector<Extra> extras;
  std::vector<Extra> left_out;  // `text` begins the line that is not printed
  struct Corrupt {
    std::int32_t rank = 0;
    int from = 0, to = 0;
    double by = 0;
  };
  std::vector<Corrupt> corrupt;  // of the loss
  std::vector<Corrupt> slow;     // of a time with its unit behind it, printed where any is slow
  unsigned noise = 0;            // of a thousand values that nearly agree, so many do not
  std::map<std::int32_t, int> dies_after;

  std::shared_ptr<FakeJob> make() const {
    auto job = std::make_shared<FakeJob>();
    for (std::int32_t rank = 0; rank < ranks; ++rank) add_rank(*job, rank);
    return job;
  }

 private:
  class Writer {
   public:
    std::vector<Line> lines;
    void add(const std::string& text, UnixNanos time, std::optional<std::int64_t> iteration,
             Severity severity = Severity::info, bool says = false) {
      lines.push_back(make_line(offset_, time, text));
      Line& line = lines.back();
      line.iteration = iteration;
      line.severity = severity;
      if (iteration && !says) line.flags |= line_flag::derived_iteration;
      offset_ = line.end();
    }

   private:
    std::uint64_t offset_ = 0;
  };

  bool prints(std::int32_t rank, int iteration, const std::string& text) const {
    for (const Extra& gone : left_out) {
      if (gone.rank == rank && gone.iteration == iteration && text.starts_with(gone.text)) {
        return false;
      }
    }
    return true;
  }

  void add_rank(FakeJob& job, std::int32_t rank) const {
    StreamAttributes attributes;
    attributes.job = "spmd";
    attributes.name = "stdout";
    attributes.host = "n" + std::to_string(rank / 8);
    attributes.rank = rank;
    attributes.local_rank = rank % 8;
    attributes.rank_source = "RANK";
    attributes.attempt = 0;
    const StreamId id{StreamBase{77, static_cast<std::uint64_t>(rank)}, 0};
    const std::size_t index = job.add_stream(id, {attributes});
    std::mt19937 random(static_cast<unsigned>(rank) * 7919u + 13u);
    Writer out;
    UnixNanos time = 1'000'000'000'000 + rank * 1000;
    out.add("starting rank " + std::to_string(rank) + " of " + std::to_string(ranks), time, {});
    out.add("model has 24 layers", time, {});
    if (rank == 0) {
      out.add("config: batch 64 lr 0.0003", time, {});
      out.add("writing logs to /scratch/run7", time, {});
    }
    const int stage = stages * rank / ranks;
    const auto died = dies_after.find(rank);
    const int last = died == dies_after.end() ? iterations : died->second;
    for (int i = 0; i < last; ++i) {
      time += 1'000'000'000 + static_cast<UnixNanos>(random() % 1'000'000);
      const auto print = [&](const std::string& text, bool says = false) {
        if (prints(rank, i, text)) out.add(text, time, i, Severity::info, says);
      };
      print("step " + std::to_string(i) + " begins", true);
      print("forward took " + std::to_string(random() % 90 + 10) + " ms");
      if (stage == 0 && stages > 1) print("embedding of batch " + std::to_string(i));
      if (stage == stages - 1) add_loss(out, rank, i, time);
      if (!slow.empty()) add_wait(out, rank, i, time);
      if (noise > 0) add_noise(out, i, time, random);
      print("memory " + std::to_string(random() % 80) + "." + std::to_string(random() % 9) + " GB");
      if (rank == 0) print("throughput " + std::to_string(random() % 900) + " samples");
      if (rank == 0 && i % 10 == 9) print("saved checkpoint at step " + std::to_string(i));
      for (const Extra& extra : extras) {
        if (extra.rank == rank && extra.iteration == i) {
          out.add(extra.text, time, i, extra.severity);
        }
      }
    }
    for (std::size_t at = 0; at < out.lines.size();) {
      const std::size_t size = std::min(block_lines, out.lines.size() - at);
      const auto begin = out.lines.begin() + static_cast<std::ptrdiff_t>(at);
      job.add_block(index, 0, {begin, begin + static_cast<std::ptrdiff_t>(size)});
      at += size;
    }
    aggregator::StreamFacts& facts = job.facts()[index];
    facts.first_time = out.lines.front().time;
    facts.last_time = out.lines.back().time;
    facts.last_iteration = last - 1;
    if (ended) facts.closed = wire::Closed{id, "spmd", out.lines.back().end(), "exited"};
  }

  static double change(const std::vector<Corrupt>& all, std::int32_t rank, int iteration) {
    double by = 0;
    for (const Corrupt& one : all) {
      if (one.rank == rank && iteration >= one.from && iteration <= one.to) by += one.by;
    }
    return by;
  }

  // Too short to be seen on most ranks.
  void add_wait(Writer& out, std::int32_t rank, int iteration, UnixNanos time) const {
    const double wait = change(slow, rank, iteration);
    out.add("shard fetch " + std::to_string(wait) + " ms, 12.5 samples/s", time, iteration);
    out.lines.back().meta.push_back({"shard_fetch", wait, false});
  }

  // A number that is mostly the same, and one that counts and is at times read too early.
  void add_noise(Writer& out, int iteration, UnixNanos time, std::mt19937& random) const {
    const auto off = [&] { return random() % 1000 < noise ? 1.0 : 0.0; };
    const double queued = 8 - off(), seen = 64 * (iteration + 1 - off());
    out.add("queued " + std::to_string(queued) + " seen " + std::to_string(seen), time, iteration);
    out.lines.back().meta.push_back({"queued", queued, false});
    out.lines.back().meta.push_back({"seen", seen, false});
  }

  void add_loss(Writer& out, std::int32_t rank, int iteration, UnixNanos time) const {
    const double loss = static_cast<double>((iteration * 7919) % 1000) / 1000 + 2 +
                        change(corrupt, rank, iteration);
    const std::string text = "loss " + std::to_string(loss);
    if (!prints(rank, iteration, text)) return;
    out.add(text, time, iteration);
    Line& line = out.lines.back();
    line.meta.push_back({"loss", loss, true});
    line.meta.push_back({"step_time_ms", 100.0 + rank + iteration % 7, false});
    line.meta.push_back({"local_norm", rank * 0.37 + iteration, false});
  }
};

}  // namespace logarithm::test
