#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregator/compare/agreement.h"
#include "aggregator/compare/departures.h"
#include "aggregator/compare/job_groups.h"
#include "aggregator/compare/line_finder.h"
#include "aggregator/compare/rank_survey.h"
#include "aggregator/compare/regroup.h"

namespace logarithm::aggregator {

// How ranks find their peers.
struct PeerRule {
  enum class Kind : std::uint8_t { habits, all, host, local_rank, given };
  Kind kind = Kind::habits;
  std::vector<std::set<std::int32_t>> given;
};

// A departure with what a person needs to look at it.
struct Told {
  Departure departure;
  std::int32_t rank = 0;
  std::optional<std::int64_t> iteration;
  TemplateId group = 0;
  std::string text;     // of the line, else of the group
  std::string line_id;  // the line, or one that a peer printed and this rank did not
  std::optional<UnixNanos> time;
  Severity severity = Severity::unset;
  std::string key;                // of a value
  std::uint64_t lines = 1;        // of one record, told as one
  std::set<std::int32_t> others;  // the ranks it was compared with
  // The record it belongs to.
  std::string record;
  bool marked = false;
};

struct ConsensusGroup {
  TemplateId group = 0;
  std::string text;
  std::set<std::int32_t> ranks;
  std::uint64_t lines = 0;
  Severity severity = Severity::unset;
};
// Iterations in which a class agrees on the same groups.
struct ConsensusPattern {
  std::size_t peers = 0;                                          // index into Comparison::peers
  std::vector<std::pair<std::int64_t, std::int64_t>> iterations;  // runs of consecutive ones
  std::uint64_t count = 0;
  bool outside = false;                                      // of lines without an iteration
  std::vector<std::pair<TemplateId, std::uint32_t>> groups;  // in the order of the lines
};
struct AgreedValue {
  std::string key;
  std::uint64_t iterations = 0;
};

// One verdict over N ranks.
struct Comparison {
  std::set<std::int32_t> ranks;
  std::vector<std::set<std::int32_t>> peers;
  std::vector<ConsensusGroup> groups;      // those most printed first
  std::vector<ConsensusPattern> patterns;  // the most frequent first
  std::vector<AgreedValue> values;
  std::vector<Told> departures;  // the most unusual first
  std::uint64_t more_departures = 0;
  std::optional<std::size_t> first;  // index of the departure that came first
};

// Makes a comparison of what a survey gathered, in turns.
class Comparing {
 public:
  Comparing(RankSurvey& survey, PeerRule rule, std::size_t limit)
      : survey_(survey), rule_(std::move(rule)), limit_(limit) {}

  // After the fold; false: call again.
  Result<bool> step(BlockingToken& token, JobView& view, const std::function<bool()>& time_is_up);
  Comparison& result() { return out_; }
  const TemplateGroups& groups() const { return groups_.groups(); }

 private:
  enum class Stage : std::uint8_t { begin, texts, compare, tell, done };

  void note_unknown_templates();
  void note_own_measures();
  void compare(const JobView& view);
  Peers find_peers(const JobView& view) const;
  void tell_consensus(const ClassFindings& findings, std::size_t peers);
  void tell_groups();
  Status tell(BlockingToken& token, JobView& view, Told& told);
  static bool comes_before(const Told& a, const Told& b);  // the more unusual
  void finish();
  std::set<std::int32_t> ranks_of(const std::vector<std::size_t>& members) const;

  RankSurvey& survey_;
  PeerRule rule_;
  std::size_t limit_;
  Stage stage_ = Stage::begin;
  JobGroups groups_;
  std::vector<TemplateSample> unknown_;
  History history_;
  GroupIndex index_;
  std::size_t told_ = 0;
  std::unique_ptr<LineFinder> finder_;
  Comparison out_;
};

}  // namespace logarithm::aggregator
