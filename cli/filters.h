#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"

namespace CLI {
class App;
}

namespace logarithm::cli {

using Params = std::vector<std::pair<std::string, std::string>>;

// "?a=b&c=d", percent-encoded; empty for no parameters.
std::string query_text(const Params& params);

// The filters that reading verbs share, as REST parameters.
struct Filters {
  std::string logql, attempt, rank, iteration, severity, since, start, end;
  std::vector<std::string> grep, not_grep, callsite, not_callsite, host, stream, hide;

  void add_to(CLI::App& app);
  // Error{invalid} for --since together with --start, and a --since that is no duration.
  Result<Params> params() const;
  // Those that choose streams and not lines; Error{invalid} names the first filter that does more.
  Result<Params> stream_params() const;
};

// "0-7,16" or "1200..1300", as --rank and --attempt take it.
class NumberSet {
 public:
  static Result<NumberSet> parse(const std::string& text);
  bool contains(std::int64_t number) const;
  bool empty() const { return ranges_.empty(); }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges_;  // inclusive
};

}  // namespace logarithm::cli
