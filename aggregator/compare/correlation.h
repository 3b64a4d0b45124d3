#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/query/job_view.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

// What two lines must share.
enum class CorrelateBy : std::uint8_t { rank, host, gpu };
std::optional<CorrelateBy> parse_correlate_by(std::string_view word);
std::string_view to_string(CorrelateBy by);

// How far the second may be: iterations, or time.
struct Within {
  std::optional<std::int64_t> iterations;
  std::int64_t nanos = 0;  // without iterations
};
// "2i", "30s", "1m30s". Error{invalid} otherwise.
Result<Within> parse_within(std::string_view text);

struct CorrelatedPair {
  std::string key;  // the rank, host or GPU
  QueryLine first, then;
};

// Pairs each first line with the earliest second one after it on the same rank, host or GPU. Fed in
// strict order of (time, stream, offset); a line may be both, but is no pair with itself. Holds the
// first lines that may still find a partner, and the pairs up to a limit.
class Correlation {
 public:
  static constexpr std::size_t kMaxOpen = 200'000;  // more are an Error

  Correlation(const JobView& view, CorrelateBy by, Within within, std::size_t limit);

  Status add_first(QueryLine line);
  void add_then(const QueryLine& line);

  std::vector<CorrelatedPair> take_pairs();  // in the order of the second lines
  std::uint64_t pairs() const { return pair_count_; }
  std::uint64_t firsts() const { return firsts_; }
  std::uint64_t thens() const { return thens_; }
  // Lines that have no rank, GPU or (where that is the measure) iteration.
  std::uint64_t without_key() const { return without_key_; }
  std::uint64_t without_iteration() const { return without_iteration_; }

 private:
  std::vector<std::string> keys_of(const QueryLine& line) const;
  bool is_over(const QueryLine& first, const QueryLine& now) const;
  bool is_pair(const QueryLine& first, const QueryLine& then) const;

  CorrelateBy by_;
  Within within_;
  std::size_t limit_;
  std::map<std::string, std::vector<std::string>> gpus_;  // by process: "<host> <pci>"
  std::map<std::string, std::deque<QueryLine>> open_;     // by key
  std::size_t open_count_ = 0;
  std::vector<CorrelatedPair> pairs_;
  std::uint64_t pair_count_ = 0, firsts_ = 0, thens_ = 0, without_key_ = 0, without_iteration_ = 0;
};

}  // namespace logarithm::aggregator
