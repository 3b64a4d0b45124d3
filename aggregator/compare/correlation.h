#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "aggregator/query/job_view.h"
#include "aggregator/query/mark_scanner.h"
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
  Mark first, then;
};

// Pairs each first line with the earliest second one after it on the same rank, host or GPU. Fed in
// strict order of (time, stream, offset); a line may be both, but is no pair with itself. Holds the
// first lines that may still find a partner, and the pairs up to a limit.
class Correlation {
 public:
  static constexpr std::size_t kMaxOpen = 200'000;  // more are an Error
  // By GPU, marks carry this key's text.
  static constexpr std::string_view kDeviceKey = "pci";

  Correlation(const JobView& view, CorrelateBy by, Within within, std::size_t limit);

  // True when lines of a version surely have a key that none of `firsts` (all first lines) has:
  // they are no second ones, and need only be counted.
  std::function<bool(const StreamJoin&)> strangers_to(const std::vector<Mark>& firsts) const;
  void count_thens(std::uint64_t lines) { thens_ += lines; }

  Status add_first(const Mark& line);
  void add_then(const Mark& line);

  std::vector<CorrelatedPair> take_pairs();  // in the order of the second lines
  std::uint64_t pairs() const { return pair_count_; }
  std::uint64_t firsts() const { return firsts_; }
  std::uint64_t thens() const { return thens_; }
  // Lines that have no rank, GPU or (where that is the measure) iteration.
  std::uint64_t without_key() const { return without_key_; }
  std::uint64_t without_iteration() const { return without_iteration_; }

 private:
  // What lines share, as numbers: the rank itself, or the place of a name.
  using Key = std::int64_t;
  using Keys = std::vector<Key>;

  Key named(const std::string& name);
  // Valid until the next call.
  const Keys& keys_of(const Mark& line);
  // Counts a line that cannot be paired, and gives its keys.
  const Keys& pairable(const Mark& line);
  bool is_over(const Mark& first, const Mark& now) const;
  bool is_pair(const Mark& first, const Mark& then) const;

  CorrelateBy by_;
  Within within_;
  std::size_t limit_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, Key> places_;        // in names_
  std::map<std::string, Keys> gpus_;                   // by process
  std::unordered_map<const StreamJoin*, Keys> joins_;  // by host, and GPUs of processes
  std::unordered_map<Key, std::deque<Mark>> open_;
  Keys keys_;
  std::size_t open_count_ = 0;
  std::vector<CorrelatedPair> pairs_;
  std::uint64_t pair_count_ = 0, firsts_ = 0, thens_ = 0, without_key_ = 0, without_iteration_ = 0;
};

}  // namespace logarithm::aggregator
