#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace logarithm {

// `0:01:54`, `1 day, 2:03:04` behind a name, of which `first` is the first number and `behind` the
// rest of the line.
struct Duration {
  bool there = false;             // the number is the first part of a clock or a duration
  std::optional<double> seconds;  // nullopt: `05:06`, of which nobody knows what it counts
  std::size_t size = 0;           // bytes of `behind` that belong to it
};
Duration read_duration(std::string_view first, std::string_view behind);

// True when `name`, or the way in which hours are printed, shows that it is no time of day.
bool is_duration(std::string_view name, std::string_view hours);

}  // namespace logarithm
