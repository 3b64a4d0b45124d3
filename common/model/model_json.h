#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/model/process.h"
#include "common/model/stream.h"

// JSON forms of the model, used on the wire, in the spool and in the shard: one form everywhere.
// 64-bit integers are JSON numbers; unknown keys are ignored when reading; bytes (heads) are hex.
// The from-functions throw nlohmann::json::exception for wrong types: callers are adapters that
// catch it.
namespace logarithm {

void to_json(nlohmann::json& out, const ProcessInfo& process);
void from_json(const nlohmann::json& in, ProcessInfo& process);
void to_json(nlohmann::json& out, const StreamAttributes& attributes);
void from_json(const nlohmann::json& in, StreamAttributes& attributes);
void to_json(nlohmann::json& out, const Gap& gap);
void from_json(const nlohmann::json& in, Gap& gap);
void to_json(nlohmann::json& out, const StoredGeneration& generation);
void from_json(const nlohmann::json& in, StoredGeneration& generation);

std::string to_hex(std::string_view bytes);
Result<std::string> from_hex(std::string_view text);

}  // namespace logarithm
