#include "common/line/header_fields.h"

#include <algorithm>
#include <string>

namespace logarithm {
namespace {

// A new pair; null where the key is there.
MetaPair* add_unknown(Line& line, std::string_view key) {
  if (has_meta(line, key)) return nullptr;
  MetaPair& pair = line.meta.emplace_back();
  pair.key = key;
  return &pair;
}

}  // namespace

bool has_meta(const Line& line, std::string_view key) {
  return std::any_of(line.meta.begin(), line.meta.end(),
                     [&](const MetaPair& pair) { return pair.key == key; });
}

void take_header(Line& line, const LogHeader& header) {
  line.body_begin += static_cast<std::uint32_t>(header.size);
  line.severity = header.severity;
  if (!header.file.empty()) {
    line.callsite.reserve(header.file.size() + 1 + header.file_line.size());
    line.callsite.append(header.file).append(":").append(header.file_line);
  }
}

void add_header_fields(Line& line, const LogHeader& header) {
  const std::size_t more = header.field_count + (header.level.empty() ? 0 : 1);
  if (more > 0) line.meta.reserve(line.meta.size() + more);
  if (!header.level.empty()) {
    if (MetaPair* const pair = add_unknown(line, "level")) {
      pair->value.emplace<std::string>(header.level);
    }
  }
  for (std::size_t i = 0; i < header.field_count; ++i) {
    const LogHeader::Field& field = header.fields[i];
    if (MetaPair* const pair = add_unknown(line, field.key)) field.put(pair->value);
  }
}

}  // namespace logarithm
