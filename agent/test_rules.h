#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace logarithm::agent {

// `logarithm-agent test-rules [RULES.yaml…]`: one JSON object for each line of `in` with what the
// shipped rules and those of `files` extract from it, and on `errors` what each rule cost (ns per
// line, how often it was tried, hits). `stream`: the lines are of the stream of that name; "": of
// any, and rules of certain streams are tried too. Returns the exit code: 78 when a file or rule is
// refused.
int test_rules(const std::vector<std::string>& files, const std::string& stream, std::istream& in,
               std::ostream& out, std::ostream& errors);

}  // namespace logarithm::agent
