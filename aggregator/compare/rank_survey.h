#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "aggregator/compare/history.h"
#include "aggregator/query/fold.h"

namespace logarithm::aggregator {

// Where a template was first seen, to read its text when no shard knows it.
struct TemplateSeen {
  TemplateId id = 0;
  GroupFacts facts;
  std::uint32_t block = 0;
  std::uint64_t offset = 0;
};

// Which places of a rank lie in a block, to find lines again.
struct RankBlock {
  std::uint32_t block = 0;
  MinMax<std::int64_t> places;
};

// Gathers the history of each rank of an attempt from a fold, by templates. Holds a few bytes per
// (rank, iteration) and value, no lines.
class RankSurvey final : public LineSink {
 public:
  static constexpr std::size_t kMaxCells = 8'000'000;   // more are an Error
  static constexpr std::size_t kMaxValues = 8'000'000;  // more are left out, see values_left_out()

  // `attempt`: lines of others are not looked at; nullopt: all.
  RankSurvey(const JobView& view, std::optional<std::int32_t> attempt);

  BlockPart parts() const override { return BlockPart::facts | BlockPart::fields; }
  Status take(const Line& line, const StreamJoin& join, const BlockRef& block) override;

  // Once, after the last line. Groups of the history are indices of templates().
  History finish();

  const std::vector<TemplateSeen>& templates() const { return templates_; }
  const std::vector<BlockRef>& blocks() const { return blocks_; }
  // By rank; in the order of the fold.
  const std::map<std::int32_t, std::vector<RankBlock>>& rank_blocks() const { return where_; }
  // By key of the history: which templates() it was read from.
  const std::set<std::uint32_t>& templates_of_key(std::uint32_t key) const {
    return read_from_[key].templates;
  }
  std::uint64_t lines() const { return lines_; }
  std::uint64_t without_rank() const { return without_rank_; }
  std::uint64_t values_left_out() const { return values_left_out_; }

  // Where a line counts. A stream that never said an iteration has no place in one.
  static std::int64_t place_of(const Line& line, const StreamJoin& join);

 private:
  struct OfRank {
    std::vector<Cell> cells;
    std::int64_t place = 0;  // of the run that is open
    std::vector<std::uint32_t> open;
    std::vector<std::vector<Value>> values;
  };

  std::uint32_t template_of(const Line& line);
  void take_values(OfRank& rank, const Line& line, std::int64_t place);
  void close_run(OfRank& rank);
  void note_block(std::vector<RankBlock>& where, std::int64_t place) const;
  void turn_to(std::int32_t rank, const StreamJoin& join);

  const JobView& view_;
  std::optional<std::int32_t> attempt_;
  std::vector<TemplateSeen> templates_;
  std::unordered_map<TemplateId, std::uint32_t> template_index_;
  std::unordered_map<std::string, std::uint32_t> key_index_;
  std::vector<std::string> keys_;
  struct ReadFrom {
    std::set<std::uint32_t> templates;
    std::uint32_t last = UINT32_MAX;
  };
  std::vector<ReadFrom> read_from_;  // by key
  std::vector<BlockRef> blocks_;
  std::map<std::int32_t, std::vector<RankBlock>> where_;
  std::map<std::int32_t, OfRank> ranks_;
  struct Now {  // of the last line
    std::size_t stream = SIZE_MAX;
    const StreamJoin* join = nullptr;
    std::int32_t rank = 0;
    OfRank* of_rank = nullptr;
    std::vector<RankBlock>* where = nullptr;
  } now_;
  std::set<std::int32_t> first_of_host_;
  std::set<std::int32_t> open_ranks_;  // with a stream that is not closed
  BagBook bags_;
  std::size_t cells_ = 0, values_ = 0;
  std::uint64_t lines_ = 0, without_rank_ = 0, values_left_out_ = 0;
};

}  // namespace logarithm::aggregator
