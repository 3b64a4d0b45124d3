#include "aggregator/http/json_text.h"

#include <charconv>
#include <cmath>

#include "aggregator/query/time_text.h"
#include "common/base/utf8.h"

namespace logarithm::aggregator {
namespace {

constexpr std::int64_t kExact = std::int64_t{1} << 53;

// What some readers take for the end of a line, and so of a record of NDJSON: U+0085, U+2028 and
// U+2029, in UTF-8. The escape of the one that `text` begins with; empty for none.
std::string_view line_break_escape(std::string_view text) {
  if (text.starts_with("\xC2\x85")) return "\\u0085";
  if (text.starts_with("\xE2\x80\xA8")) return "\\u2028";
  if (text.starts_with("\xE2\x80\xA9")) return "\\u2029";
  return {};
}

void append_escaped(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::size_t clean = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    std::string_view broken;
    if (c == 0xC2 || c == 0xE2) broken = line_break_escape(text.substr(i));
    if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7F && broken.empty()) continue;
    out.append(text, clean, i - clean);
    if (!broken.empty()) {
      out += broken;
      i += c == 0xC2 ? 1 : 2;
      clean = i + 1;
      continue;
    }
    clean = i + 1;
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        out += "\\u00";
        out.push_back(kHex[c >> 4]);
        out.push_back(kHex[c & 15]);
    }
  }
  out.append(text, clean);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  if (valid_utf8(text)) {
    append_escaped(out, text);
  } else {
    append_escaped(out, sanitize_utf8(text));
  }
  out.push_back('"');
}

void JsonWriter::separate() {
  if (need_comma_) out_.push_back(',');
  need_comma_ = true;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  out_.push_back('{');
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  out_.push_back('}');
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  separate();
  out_.push_back('[');
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  out_.push_back(']');
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_.push_back(':');
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view value) {
  separate();
  append_json_string(out_, value);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  out_ += "null";
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) {
  if (value > kExact || value < -kExact) return big_signed(value);
  separate();
  out_ += std::to_string(value);
  return *this;
}

JsonWriter& JsonWriter::count(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(kExact)) return big(value);
  return integer(static_cast<std::int64_t>(value));
}

JsonWriter& JsonWriter::big(std::uint64_t value) { return string(std::to_string(value)); }
JsonWriter& JsonWriter::big_signed(std::int64_t value) { return string(std::to_string(value)); }

JsonWriter& JsonWriter::real(double value) {
  if (std::isnan(value)) return string("NaN");
  if (std::isinf(value)) return string(value > 0 ? "Infinity" : "-Infinity");
  separate();
  char text[40];
  auto [end, problem] = std::to_chars(text, text + sizeof text, value);
  std::string_view digits(text, static_cast<std::size_t>(end - text));
  out_ += digits;
  // A double stays one for readers that tell 5 from 5.0.
  if (digits.find_first_of(".e") == std::string_view::npos) out_ += ".0";
  return *this;
}

JsonWriter& JsonWriter::time(UnixNanos value) { return string(to_rfc3339(value)); }

JsonWriter& JsonWriter::optional_string(std::string_view name, std::string_view value) {
  if (!value.empty()) key(name).string(value);
  return *this;
}

void JsonWriter::newline() {
  out_.push_back('\n');
  need_comma_ = false;
}

}  // namespace logarithm::aggregator
