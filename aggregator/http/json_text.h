#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/types.h"

namespace logarithm::aggregator {

// Appends `text` as a JSON string; ill-formed UTF-8 becomes U+FFFD, so the result always parses.
void append_json_string(std::string& out, std::string_view text);

// Writes JSON in order, with the REST conventions: big integers and 64-bit ids as strings, NaN and
// infinities as words. Commas are its own business; nesting is the caller's.
class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& string(std::string_view value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  // A number; past 2^53 a string.
  JsonWriter& integer(std::int64_t value);
  JsonWriter& count(std::uint64_t value);
  // Always a string: ids, offsets, bytes, nanoseconds.
  JsonWriter& big(std::uint64_t value);
  JsonWriter& big_signed(std::int64_t value);
  // Shortest form that reads back; "NaN", "Infinity", "-Infinity".
  JsonWriter& real(double value);
  JsonWriter& time(UnixNanos value);  // RFC 3339, 9 digits

  // `name: value`, left out when there is none.
  JsonWriter& optional_string(std::string_view name, std::string_view value);
  template <typename T>
  JsonWriter& optional_integer(std::string_view name, const std::optional<T>& value) {
    if (value) key(name).integer(std::int64_t{*value});
    return *this;
  }
  JsonWriter& optional_time(std::string_view name, const std::optional<UnixNanos>& value) {
    if (value) key(name).time(*value);
    return *this;
  }

  // `name: value`, null when there is none: fields that are always there.
  template <typename T>
  JsonWriter& nullable_integer(std::string_view name, const std::optional<T>& value) {
    key(name);
    return value ? integer(std::int64_t{*value}) : null();
  }
  JsonWriter& nullable_time(std::string_view name, const std::optional<UnixNanos>& value) {
    key(name);
    return value ? time(*value) : null();
  }
  JsonWriter& nullable_real(std::string_view name, const std::optional<double>& value) {
    key(name);
    return value ? real(*value) : null();
  }

  std::string& text() { return out_; }
  std::string take() { return std::move(out_); }
  void newline();  // ends a record of NDJSON

 private:
  void separate();
  std::string out_;
  bool need_comma_ = false;
};

}  // namespace logarithm::aggregator
