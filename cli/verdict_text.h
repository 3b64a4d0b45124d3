#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace logarithm::cli {

// A triage answer for people: the sentence, then what it rests on.
std::string verdict_text(const nlohmann::json& answer);

}  // namespace logarithm::cli
