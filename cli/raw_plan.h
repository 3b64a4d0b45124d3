#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/filters.h"
#include "common/base/result.h"

namespace logarithm::cli {

// A part of a stream to download: offsets [from, to).
struct RawPart {
  std::string stream_id;
  std::optional<std::int64_t> attempt, rank;
  std::string name;
  std::uint64_t generation = 0;
  std::uint64_t from = 0;
  std::optional<std::uint64_t> to;  // to the end
  std::string file;                 // a relative path for --to, unique in the plan
  std::uint64_t end = 0;            // where the part ended when it was planned
  bool whole = true;                // the only part of its stream
  bool gapless = true;              // nothing of the stream is missing: its bytes tell offsets
};

// A file that served several attempts or ranks is cut where they change, or (`never`) given as one:
// then it names only the attempt and rank that all of it has.
enum class RawCuts { where_they_change, never };

// The parts that `filters` pick from the answer of …/streams, by (attempt, rank, stream,
// generation), offsets. Error{corrupt} when the answer is not what it should be.
Result<std::vector<RawPart>> plan_raw(const nlohmann::json& answer, const Filters& filters,
                                      RawCuts cuts = RawCuts::where_they_change);

}  // namespace logarithm::cli
