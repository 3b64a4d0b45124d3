#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace logarithm::cli {

// A triage answer for people: the sentence, then what it rests on. `context` is the command that
// shows a line by the id behind it.
std::string verdict_text(const nlohmann::json& answer, const std::string& context);

}  // namespace logarithm::cli
