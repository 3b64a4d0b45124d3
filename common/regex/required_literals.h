#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace logarithm {

// Strings that any match of `pattern` must contain; see Regex::required_literals(). `pattern` must
// be one that RE2 accepts (Perl syntax). Conservative: unknown syntax gives an empty answer.
std::vector<std::string> required_literals_of(std::string_view pattern, bool utf8, bool fold_case);

}  // namespace logarithm
