#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/source.h"
#include "common/base/result.h"

namespace logarithm::cli {

// An answer of the server that holds an array `name`. Error{corrupt} for anything else.
Result<nlohmann::json> parse_answer(const std::string& body, const char* name);

// A record of NDJSON with its end. What some readers take for the end of a line (U+0085, U+2028,
// U+2029) is escaped in it.
std::string ndjson_record(const nlohmann::json& object);

// Says on stderr that an answer is not complete, and why.
void warn_incomplete(const nlohmann::json& answer);

// A member as text: strings as they are (control bytes made visible), numbers as JSON writes them,
// "-" when it is missing.
std::string member(const nlohmann::json& object, const char* name);
// A member that is a number, also when it is written "NaN", "Infinity" or "-Infinity", or as the
// digits of a big one; NaN when it is missing.
double number_member(const nlohmann::json& object, const char* name);

// The positional words of a verb: the job into `job`, the others are given back. With --files there
// is no job, and words that --files took without being files come back.
Result<std::vector<std::string>> bind_job(FileOptions& files, std::vector<std::string> words,
                                          std::string& job);

}  // namespace logarithm::cli
