#include "common/model/json_fields.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "common/model/model_json.h"

namespace logarithm::json_fields {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 64;

// The value at `key`, or null when it is missing.
const json* find(const json& in, const char* key) {
  if (!in.is_object()) refuse(in, "expected an object");
  const auto found = in.find(key);
  return found == in.end() ? nullptr : &*found;
}

template <typename T>
T integer(const json& value, const char* key) {
  using Limits = std::numeric_limits<T>;
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number <= static_cast<std::uint64_t>(Limits::max())) return static_cast<T>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    const bool fits =
        number < 0
            ? Limits::is_signed && number >= static_cast<std::int64_t>(Limits::min())
            : static_cast<std::uint64_t>(number) <= static_cast<std::uint64_t>(Limits::max());
    if (fits) return static_cast<T>(number);
  } else {
    refuse(value, std::string(key) + ": expected an integer");
  }
  refuse(value, std::string(key) + ": the number does not fit");
}

template <typename T>
void read_integer(const json& in, const char* key, T& out) {
  if (const json* value = find(in, key)) out = integer<T>(*value, key);
}

template <typename T>
void read_optional(const json& in, const char* key, std::optional<T>& out) {
  const json* value = find(in, key);
  if (value == nullptr || value->is_null()) return;
  out = integer<T>(*value, key);
}

const std::string& text(const json& value, const char* key) {
  if (!value.is_string()) refuse(value, std::string(key) + ": expected a string");
  return value.get_ref<const std::string&>();
}

template <typename T>
T value_or_refuse(Result<T> result, const json& at, const char* key) {
  if (!result.ok()) refuse(at, std::string(key) + ": " + result.error().message());
  return std::move(result).value();
}

}  // namespace

void refuse(const json& at, const std::string& what) {
  throw json::other_error::create(599, what, &at);
}

void read(const json& in, const char* key, bool& out) {
  const json* value = find(in, key);
  if (value == nullptr) return;
  if (!value->is_boolean()) refuse(*value, std::string(key) + ": expected true or false");
  out = value->get<bool>();
}
void read(const json& in, const char* key, std::uint8_t& out) { read_integer(in, key, out); }
void read(const json& in, const char* key, std::uint16_t& out) { read_integer(in, key, out); }
void read(const json& in, const char* key, std::int32_t& out) { read_integer(in, key, out); }
void read(const json& in, const char* key, std::uint32_t& out) { read_integer(in, key, out); }
void read(const json& in, const char* key, std::int64_t& out) { read_integer(in, key, out); }
void read(const json& in, const char* key, std::uint64_t& out) { read_integer(in, key, out); }
void read(const json& in, const char* key, std::optional<std::int32_t>& out) {
  read_optional(in, key, out);
}
void read(const json& in, const char* key, std::optional<std::uint32_t>& out) {
  read_optional(in, key, out);
}
void read(const json& in, const char* key, std::optional<std::int64_t>& out) {
  read_optional(in, key, out);
}
void read(const json& in, const char* key, std::optional<std::uint64_t>& out) {
  read_optional(in, key, out);
}

void read(const json& in, const char* key, std::string& out) {
  if (const json* value = find(in, key)) out = text(*value, key);
}

void read(const json& in, const char* key, std::vector<std::string>& out) {
  std::vector<std::string> items;
  if (find(in, key) == nullptr) return;
  for (const json& item : array_at(in, key)) items.push_back(text(item, key));
  out = std::move(items);
}

void read(const json& in, const char* key, std::map<std::string, std::string>& out) {
  const json* value = find(in, key);
  if (value == nullptr) return;
  if (!value->is_object()) refuse(*value, std::string(key) + ": expected an object");
  out.clear();
  for (const auto& [name, item] : value->items()) out.emplace(name, text(item, key));
}

void read_hex(const json& in, const char* key, std::string& out) {
  if (const json* value = find(in, key)) {
    out = value_or_refuse(from_hex(text(*value, key)), *value, key);
  }
}

void read(const json& in, const char* key, StreamBase& out) {
  if (const json* value = find(in, key)) {
    out = value_or_refuse(parse_stream_base(text(*value, key)), *value, key);
  }
}

void read(const json& in, const char* key, StreamId& out) {
  if (const json* value = find(in, key)) {
    out = value_or_refuse(parse_stream_id(text(*value, key)), *value, key);
  }
}

void require(const json& in, const char* key) {
  if (find(in, key) == nullptr) refuse(in, std::string(key) + ": missing");
}

const json& array_at(const json& in, const char* key) {
  static const json empty = json::array();
  const json* value = find(in, key);
  if (value == nullptr) return empty;
  if (!value->is_array()) refuse(*value, std::string(key) + ": expected an array");
  return *value;
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json parse(std::string_view text_in) {
  // nlohmann destroys and dumps nested values recursively, so depth is refused while parsing.
  const auto limit_depth = [](int depth, json::parse_event_t, json& at) {
    if (depth > kMaxDepth) refuse(at, "nested too deeply");
    return true;
  };
  json value = json::parse(text_in.begin(), text_in.end(), limit_depth);
  if (!value.is_object()) refuse(value, "expected an object");
  return value;
}

}  // namespace logarithm::json_fields
