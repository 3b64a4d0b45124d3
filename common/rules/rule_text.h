#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace logarithm {

// The candidate that differs least from `word` (edit distance at most 2, or a third of its length),
// or "".
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

// "; did you mean 'x'?" or, without a near name, "; known: a, b, c".
std::string name_hint(std::string_view word, const std::vector<std::string>& candidates);

// `text` for a message: at most 60 bytes.
std::string shortened(const std::string& text);

}  // namespace logarithm
