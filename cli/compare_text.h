#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace logarithm::cli {

// Answers of …/compare for people. Members that are missing show as "-".

// One row a departure, the most unusual first.
std::string departures_text(const nlohmann::json& answer);
// Two columns, each half a terminal of `columns` wide: what the first rank printed, and the second.
std::string pair_text(const nlohmann::json& answer, std::size_t columns);
// What the ranks agree on: groups, and which iterations look alike.
std::string consensus_text(const nlohmann::json& answer);
// A row or departure as tab-separated fields.
std::string raw_row(const nlohmann::json& row);
// One sentence: who departed first, or that nobody did.
std::string compare_summary(const nlohmann::json& answer);

}  // namespace logarithm::cli
