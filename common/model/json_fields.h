#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/types.h"

// Strict reading of JSON fields, shared by the model's and the frames' JSON. Each read() leaves
// `out` as it is when the key is missing (or null for optionals), and throws
// nlohmann::json::exception for a wrong type or a number that does not fit: nlohmann's own get<>()
// would cut numbers silently. Callers are adapters that catch it.
namespace logarithm::json_fields {

void read(const nlohmann::json& in, const char* key, bool& out);
void read(const nlohmann::json& in, const char* key, std::uint8_t& out);
void read(const nlohmann::json& in, const char* key, std::uint16_t& out);
void read(const nlohmann::json& in, const char* key, std::int32_t& out);
void read(const nlohmann::json& in, const char* key, std::uint32_t& out);
void read(const nlohmann::json& in, const char* key, std::int64_t& out);
void read(const nlohmann::json& in, const char* key, std::uint64_t& out);
void read(const nlohmann::json& in, const char* key, std::string& out);
void read(const nlohmann::json& in, const char* key, std::optional<std::int32_t>& out);
void read(const nlohmann::json& in, const char* key, std::optional<std::uint32_t>& out);
void read(const nlohmann::json& in, const char* key, std::optional<std::int64_t>& out);
void read(const nlohmann::json& in, const char* key, std::optional<std::uint64_t>& out);
void read(const nlohmann::json& in, const char* key, std::vector<std::string>& out);
void read(const nlohmann::json& in, const char* key, std::map<std::string, std::string>& out);
// Hex text -> bytes.
void read_hex(const nlohmann::json& in, const char* key, std::string& out);
// "<32 hex>" and "<32 hex>.<generation>"; throws for anything else.
void read(const nlohmann::json& in, const char* key, StreamBase& out);
void read(const nlohmann::json& in, const char* key, StreamId& out);

// Throws unless `in` is an object that has `key`.
void require(const nlohmann::json& in, const char* key);
// The array at `key`; an empty one when it is missing. Throws when it is something else.
const nlohmann::json& array_at(const nlohmann::json& in, const char* key);
// A nlohmann exception with this text.
[[noreturn]] void refuse(const nlohmann::json& at, const std::string& what);

// Compact text; bytes that are not UTF-8 (command lines, paths) become U+FFFD instead of throwing.
std::string dump(const nlohmann::json& value);
// Text -> JSON; throws for bad text, more than 64 levels of nesting, or a top level that is no
// object.
nlohmann::json parse(std::string_view text);

}  // namespace logarithm::json_fields
