#pragma once

#include <optional>
#include <set>
#include <string>

#include "aggregator/http/json_text.h"
#include "aggregator/query/completeness.h"
#include "aggregator/query/job_view.h"

// The JSON forms of contract.md, one function each; every one writes one JSON value.
namespace logarithm::aggregator {

void write_line(JsonWriter& out, const QueryLine& line);
void write_line(JsonWriter& out, const Line& line, const StreamJoin& join);
// As of `now`.
void write_job(JsonWriter& out, const JobSummary& job, const Freshness& freshness, UnixNanos now);
void write_stream(JsonWriter& out, const JobView& view, std::size_t stream,
                  const std::optional<StreamProgress>& progress);
void write_process(JsonWriter& out, const ProcessFacts& process);
void write_completeness(JsonWriter& out, const Completeness& completeness);

// {0,1,2,5} -> "0-2,5".
std::string compress(const std::set<std::int32_t>& numbers);

}  // namespace logarithm::aggregator
