#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "aggregator/compare/comparison.h"
#include "aggregator/compare/history.h"

namespace logarithm::aggregator {

// What ranks print otherwise than the same ranks of another run did; the same on many ranks is one.
struct SideDeparture {
  DepartureKind kind = DepartureKind::extra;  // as seen from this run: more, or less
  std::uint32_t group = 0;
  std::int64_t first = 0, last = 0;
  std::uint64_t times = 0;         // (rank, place)
  std::vector<std::size_t> ranks;  // indices into the history of this run, ascending
  double score = 0;
};

// Compares the histories of two runs rank by rank, iteration by iteration, where both lived. The
// histories must share their groups (regroup() with one index). Pure.
std::vector<SideDeparture> compare_sides(const History& run, const History& other);

// A run against another one, in turns: surveys in, what a person reads out.
class ComparingSides {
 public:
  ComparingSides(RankSurvey& run, RankSurvey& other, std::size_t limit)
      : surveys_{&run, &other}, limit_(limit) {}

  // `views`: of the run and of the other one. False: call again.
  Result<bool> step(BlockingToken& token, std::array<JobView*, 2> views,
                    const std::function<bool()>& time_is_up);
  Comparison& result() { return out_; }

 private:
  enum class Stage : std::uint8_t { begin, texts, compare, tell, done };
  void note_unknown(std::size_t side);
  void compare();

  std::array<RankSurvey*, 2> surveys_;
  std::size_t limit_;
  Stage stage_ = Stage::begin;
  JobGroups groups_;
  std::array<History, 2> histories_;
  std::array<std::vector<TemplateSample>, 2> unknown_;
  GroupIndex index_;
  std::array<std::unique_ptr<LineFinder>, 2> finders_;
  std::vector<SideDeparture> departures_;
  std::size_t told_ = 0;
  Comparison out_;
};

}  // namespace logarithm::aggregator
