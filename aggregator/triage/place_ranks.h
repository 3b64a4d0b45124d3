#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "aggregator/query/job_view.h"
#include "aggregator/triage/block_survey.h"

namespace logarithm::aggregator::triage {

// The place of a stream: where a path names a local rank, its directory (a process's two outputs
// lie there); where it names a pid, directory and pid; else the stream itself.
std::string place_of(const StreamJoin& join);

// Ranks of streams that nothing states a rank of, because their paths name local ranks or pids.
// Never a guess: what all lines of a place name, what a driver's table says of a pid, and local
// ranks counted on from the first rank of their host, as one line or launcher's report tells it.
class PlaceRanks {
 public:
  void add(const StreamJoin& join, const BlockSurvey& survey);
  std::map<std::string, std::int32_t> infer() const;
  // Of ranks: what a driver's table and the paths of places say (`ranks`: by infer()), and what
  // they call themselves.
  std::map<std::int32_t, std::set<std::int64_t>> pids(
      const std::map<std::string, std::int32_t>& ranks) const;
  // Of ranks, where NCCL names them.
  const std::map<std::int32_t, std::string>& hosts() const { return hosts_; }

 private:
  using Named = std::map<std::string, std::int32_t>;
  void add_hosts_by_local_rank(Named& out) const;

  std::map<std::string, std::set<std::int32_t>> named_;  // by place: ranks before lines
  std::map<std::string, std::int32_t> introduced_;       // by place: what it called itself first
  std::map<std::string, std::int32_t> local_;            // by place
  std::map<std::string, std::int64_t> pids_;             // by place
  std::map<std::int64_t, std::set<std::int32_t>> mentioned_;  // pid -> ranks
  // Directory of a launcher's log -> first rank of its host, as it said.
  std::map<std::string, std::set<std::int32_t>> reported_;
  std::map<std::int32_t, std::string> hosts_;
  std::map<std::int32_t, std::set<std::int64_t>> own_pids_;
};

}  // namespace logarithm::aggregator::triage
