#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace logarithm::cli {

// The answer of …/telemetry/series for people: a table, one row a bucket.
std::string series_table(const nlohmann::json& answer);
// Its means as a plot, `columns` wide, with a legend; says where NaN began.
std::string series_plot(const nlohmann::json& answer, std::size_t columns);
// Records: one bucket a line, with its series' metric, attempt and rank.
std::string series_ndjson(const nlohmann::json& answer);
// "attempt rank iteration count min mean max last", separated by tabs, "-" for what is unknown.
std::string series_raw(const nlohmann::json& answer);

}  // namespace logarithm::cli
