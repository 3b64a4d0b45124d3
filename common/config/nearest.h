#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace logarithm::config {

// The known name that `name` is probably a misspelling of: the fewest edits, at most a third of its
// length (at least one, at most three).
std::optional<std::string> nearest_name(std::string_view name,
                                        const std::vector<std::string>& known);

}  // namespace logarithm::config
