#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace logarithm {

// Strings that any match of `pattern` must contain; see Regex::required_literals(). `pattern` must
// be one that RE2 accepts (Perl syntax). Conservative: unknown syntax gives an empty answer.
std::vector<std::string> required_literals_of(std::string_view pattern, bool utf8, bool fold_case);

// Strings of which any match of `pattern` contains at least one, in some case of its ASCII letters
// (the strings are lower case). Empty when nothing is known. The rarest set that is found.
std::vector<std::string> required_any_of(std::string_view pattern, bool utf8, bool fold_case);

}  // namespace logarithm
