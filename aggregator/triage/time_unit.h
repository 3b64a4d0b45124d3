#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace logarithm::aggregator::triage {

// Nanoseconds of one unit of a number that is a time by its name ("fwd_bwd_ms", "data_s"); nullopt
// for all others.
std::optional<double> time_unit(const std::string& key);

// A number that may be a time by its name, and does not say in which unit: "batch_ready_in".
bool may_be_duration(const std::string& key);

// "_ms" or "_s" when the unit stands behind the number `key` in a template's text; else empty.
std::string_view unit_behind(std::string_view template_text, std::string_view key);

// Which keys of a block are times or may be, asked once for each.
class TimedKeys {
 public:
  bool contain(const std::string& key);

 private:
  std::vector<std::pair<std::string, bool>> known_;
};

}  // namespace logarithm::aggregator::triage
