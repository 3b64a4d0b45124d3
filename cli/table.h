#pragma once

#include <string>
#include <vector>

namespace logarithm::cli {

// Rows as columns with two blanks between them; no blanks at the ends of lines. `right` names the
// columns of numbers.
std::string table(const std::vector<std::vector<std::string>>& rows,
                  const std::vector<std::size_t>& right);

// "1.5 GiB": for people.
std::string human_bytes(double bytes);

}  // namespace logarithm::cli
