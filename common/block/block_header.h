#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/types.h"
#include "common/block/block_format.h"
#include "common/line/line.h"
#include "common/model/stream.h"

namespace logarithm {

enum class MetaType : std::uint8_t { int64 = 0, float64 = 1, string = 2 };

template <typename T>
struct MinMax {
  T min{}, max{};
};

// Statistics of one (key, type) column.
struct FieldStats {
  std::string key;
  MetaType type = MetaType::int64;
  std::uint32_t count = 0;
  MinMax<std::int64_t> ints;  // for int64
  MinMax<double> doubles;     // for float64; NaN ignored; min > max when there is only NaN
  bool has_nan = false;
};

// What a template's text stands for.
enum class TemplateKind : std::uint8_t { body = 0, header = 1, prefix = 2 };

struct TemplateDef {
  TemplateId id = 0;
  TemplateKind kind = TemplateKind::body;
  std::uint8_t mask_version = 0;
  std::string text;  // slots as kSlot
  bool operator==(const TemplateDef&) const = default;
};

// Everything that pruning needs, readable without decompressing a column.
struct BlockHeader {
  std::uint16_t version = block_format::kVersion;
  StreamId stream;
  std::uint32_t attributes_version = 0;
  std::uint64_t first = 0, end = 0;  // covers exactly [first, end)
  std::uint32_t lines = 0;
  std::uint64_t raw_bytes = 0;  // kept bytes with terminators
  std::uint32_t tail_crc = 0;   // CRC32C of the min(256, end) source bytes before `end`
  std::uint8_t mask_version = 0;
  MinMax<UnixNanos> time, observed;               // of all lines
  std::optional<MinMax<std::int64_t>> iteration;  // of the lines that have one
  std::optional<MinMax<std::int32_t>> wrapper_rank;
  bool all_have_iteration = false;
  std::uint8_t severities = 0;  // bit (1 << Severity) for each that occurs
  std::uint32_t flags_any = 0;  // or of all lines' flags
  // No line says which output it is of. Not set by older writers, which did not tell.
  bool no_output_said = false;
  bool has_callsite = false;
  std::vector<std::string> callsites;        // distinct, sorted
  std::vector<TemplateId> body_templates;    // distinct, ascending: of *all* lines, plain ones too
  std::vector<TemplateId> stored_templates;  // all kinds, needed to decode
  std::vector<FieldStats> fields;
  std::vector<EventMark> events;  // distinct
  std::vector<Gap> gaps;
  bool has_plain_text = false;  // lines stored as plain text: their words are in the filter
  std::string filter;           // see token_filter.h
};

}  // namespace logarithm
