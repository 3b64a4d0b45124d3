#include "common/block/header_codec.h"

#include <algorithm>
#include <bit>

#include "common/block/block_limits.h"
#include "common/block/columns.h"
#include "common/io/crc32c.h"

namespace logarithm::block {
namespace {

// Fixed part: magic 4, version u16, reserved u16, header length u32, total length u32, header CRC
// u32 (of the header part without this field), sections CRC u32.
constexpr std::size_t kFixed = 24;
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kTotalLengthAt = 12;
constexpr std::size_t kHeaderCrcAt = 16;
constexpr std::size_t kSectionsCrcAt = 20;

enum Column : std::uint64_t {
  kIdentity = 1,
  kTimes = 2,
  kIteration = 3,
  kWrapperRank = 4,
  kCallsites = 5,
  kBodyTemplates = 6,
  kStoredTemplates = 7,
  kFields = 8,
  kEvents = 9,
  kGaps = 10,
  kFilter = 11,
  kSections = 12,
};

constexpr std::uint8_t kAllHaveIteration = 1;
constexpr std::uint8_t kHasCallsite = 2;
constexpr std::uint8_t kHasPlainText = 4;
constexpr std::uint8_t kNoOutputSaid = 8;

Error corrupt(const char* what) { return Error(ErrorCode::corrupt, std::string("block ") + what); }

std::uint32_t header_crc(std::string_view part) {
  return crc32c(part.substr(kSectionsCrcAt), crc32c(part.substr(0, kHeaderCrcAt)));
}

void write_min_max(ByteWriter& out, std::int64_t min, std::int64_t max) {
  out.zigzag_varint(min);
  out.varint(static_cast<std::uint64_t>(max) - static_cast<std::uint64_t>(min));
}

template <typename T>
MinMax<T> read_min_max(ByteReader& in) {
  const std::int64_t min = in.zigzag_varint();
  const auto max = static_cast<std::int64_t>(static_cast<std::uint64_t>(min) + in.varint());
  if (static_cast<std::int64_t>(static_cast<T>(min)) != min ||
      static_cast<std::int64_t>(static_cast<T>(max)) != max) {
    in.fail();
  }
  return {static_cast<T>(min), static_cast<T>(max)};
}

void write_double(ByteWriter& out, double value) { out.u64(std::bit_cast<std::uint64_t>(value)); }
double read_double(ByteReader& in) { return std::bit_cast<double>(in.u64()); }

std::string identity(const BlockHeader& header) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u64(header.stream.base.hi);
  out.u64(header.stream.base.lo);
  out.varint(header.stream.generation);
  out.varint(header.attributes_version);
  out.varint(header.first);
  out.varint(header.end - header.first);
  out.varint(header.lines);
  out.varint(header.raw_bytes);
  out.u32(header.tail_crc);
  out.u8(header.mask_version);
  out.u8(header.severities);
  out.varint(header.flags_any);
  out.u8(static_cast<std::uint8_t>((header.all_have_iteration ? kAllHaveIteration : 0) |
                                   (header.has_callsite ? kHasCallsite : 0) |
                                   (header.has_plain_text ? kHasPlainText : 0) |
                                   (header.no_output_said ? kNoOutputSaid : 0)));
  return bytes;
}

void read_identity(ByteReader in, BlockHeader& header, ByteReader& status) {
  header.stream.base.hi = in.u64();
  header.stream.base.lo = in.u64();
  header.stream.generation = in.narrow_varint<std::uint32_t>();
  header.attributes_version = in.narrow_varint<std::uint32_t>();
  header.first = in.varint();
  const std::uint64_t covered = in.varint();
  header.end = header.first + covered;
  header.lines = in.narrow_varint<std::uint32_t>();
  header.raw_bytes = in.varint();
  header.tail_crc = in.u32();
  header.mask_version = in.u8();
  header.severities = in.u8();
  header.flags_any = in.narrow_varint<std::uint32_t>();
  const std::uint8_t bits = in.u8();
  header.all_have_iteration = (bits & kAllHaveIteration) != 0;
  header.has_callsite = (bits & kHasCallsite) != 0;
  header.has_plain_text = (bits & kHasPlainText) != 0;
  header.no_output_said = (bits & kNoOutputSaid) != 0;
  const bool sane = header.end >= header.first && header.lines <= block_format::kMaxLines &&
                    header.raw_bytes <= block_format::kMaxRawBytes;
  // Offsets grow strictly, so that a line covers at least one, but for the last.
  if (!in.ok() || !sane || (header.lines > 0 && header.lines - 1 > covered)) status.fail();
}

std::string callsites(const BlockHeader& header) {
  std::string bytes;
  ByteWriter out(bytes);
  if (header.callsites.empty()) return bytes;
  out.varint(header.callsites.size());
  for (const std::string& callsite : header.callsites) out.sized(callsite);
  return bytes;
}

std::string template_ids(const std::vector<TemplateId>& ids) {
  std::string bytes;
  ByteWriter out(bytes);
  for (const TemplateId id : ids) out.u64(id);
  return bytes;
}

// Most stored templates are body templates: one bit each, then the ids of the others.
std::string stored_templates(const BlockHeader& header) {
  std::string bytes;
  if (header.stored_templates.empty()) return bytes;
  bytes.assign((header.body_templates.size() + 7) / 8, '\0');
  std::string others;
  ByteWriter out(others);
  for (const TemplateId id : header.stored_templates) {
    const auto at =
        std::lower_bound(header.body_templates.begin(), header.body_templates.end(), id);
    if (at == header.body_templates.end() || *at != id) {
      out.u64(id);
      continue;
    }
    const auto index = static_cast<std::size_t>(at - header.body_templates.begin());
    bytes[index / 8] =
        static_cast<char>(static_cast<unsigned char>(bytes[index / 8]) | (1u << (index % 8)));
  }
  return bytes + others;
}

bool ascending(const std::vector<TemplateId>& ids) {
  return std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end();
}

void read_ids(ByteReader& in, std::vector<TemplateId>& ids) {
  ids.reserve(in.remaining() / 8);
  while (!in.at_end()) ids.push_back(in.u64());
}

void read_templates(const ColumnMap& columns, BlockHeader& header, ByteReader& status) {
  ByteReader body = columns.reader(kBodyTemplates);
  read_ids(body, header.body_templates);
  ByteReader stored = columns.reader(kStoredTemplates);
  if (!stored.at_end()) {
    const std::string_view bits = stored.bytes((header.body_templates.size() + 7) / 8);
    for (std::size_t i = 0; i < header.body_templates.size() && i / 8 < bits.size(); ++i) {
      const bool set = (static_cast<unsigned char>(bits[i / 8]) >> (i % 8) & 1) != 0;
      if (set) header.stored_templates.push_back(header.body_templates[i]);
    }
    read_ids(stored, header.stored_templates);
    std::sort(header.stored_templates.begin(), header.stored_templates.end());
  }
  if (!body.ok() || !stored.ok() || !ascending(header.body_templates) ||
      !ascending(header.stored_templates)) {
    status.fail();
  }
}

std::string fields(const BlockHeader& header) {
  std::string bytes;
  ByteWriter out(bytes);
  if (header.fields.empty()) return bytes;
  out.varint(header.fields.size());
  for (const FieldStats& field : header.fields) {
    out.sized(field.key);
    out.u8(static_cast<std::uint8_t>(field.type));
    out.varint(field.count);
    if (field.type == MetaType::int64) write_min_max(out, field.ints.min, field.ints.max);
    if (field.type != MetaType::float64) continue;
    out.u8(field.has_nan ? 1 : 0);
    write_double(out, field.doubles.min);
    write_double(out, field.doubles.max);
  }
  return bytes;
}

// A count of header items; more than the cap is a failure.
std::size_t read_count(ByteReader& in) {
  if (in.at_end()) return 0;
  const std::size_t count = in.count(1);
  if (count > kMaxHeaderItems) in.fail();
  return in.ok() ? count : 0;
}

void read_fields(ByteReader in, std::vector<FieldStats>& out, ByteReader& status) {
  const std::size_t count = read_count(in);
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    FieldStats& field = out.emplace_back();
    field.key = in.sized();
    const std::uint8_t type = in.u8();
    if (type > static_cast<std::uint8_t>(MetaType::string)) in.fail();
    field.type = static_cast<MetaType>(type);
    field.count = in.narrow_varint<std::uint32_t>();
    if (field.type == MetaType::int64) field.ints = read_min_max<std::int64_t>(in);
    if (field.type != MetaType::float64) continue;
    field.has_nan = in.u8() != 0;
    field.doubles.min = read_double(in);
    field.doubles.max = read_double(in);
  }
  if (!in.ok()) status.fail();
}

std::string events(const BlockHeader& header) {
  std::string bytes;
  ByteWriter out(bytes);
  if (header.events.empty()) return bytes;
  out.varint(header.events.size());
  for (const EventMark& event : header.events) {
    out.sized(event.rule);
    out.sized(event.kind);
    out.sized(event.klass);
  }
  return bytes;
}

std::string gaps(const BlockHeader& header) {
  std::string bytes;
  ByteWriter out(bytes);
  if (header.gaps.empty()) return bytes;
  out.varint(header.gaps.size());
  for (const Gap& gap : header.gaps) {
    out.varint(gap.from);
    out.u8(gap.to ? 1 : 0);
    out.varint(gap.to.value_or(0));
    out.sized(gap.reason);
    out.zigzag_varint(gap.at);
  }
  return bytes;
}

void read_lists(const ColumnMap& columns, BlockHeader& header, ByteReader& status) {
  ByteReader in = columns.reader(kCallsites);
  for (std::size_t left = read_count(in); left > 0 && in.ok(); --left) {
    header.callsites.emplace_back(in.sized());
  }
  if (!in.ok()) status.fail();
  in = columns.reader(kEvents);
  for (std::size_t left = read_count(in); left > 0 && in.ok(); --left) {
    EventMark& event = header.events.emplace_back();
    event.rule = in.sized();
    event.kind = in.sized();
    event.klass = in.sized();
  }
  if (!in.ok()) status.fail();
  in = columns.reader(kGaps);
  for (std::size_t left = read_count(in); left > 0 && in.ok(); --left) {
    Gap& gap = header.gaps.emplace_back();
    gap.from = in.varint();
    const bool closed = in.u8() != 0;
    const std::uint64_t to = in.varint();
    if (closed) gap.to = to;
    gap.reason = in.sized();
    gap.at = in.zigzag_varint();
  }
  if (!in.ok()) status.fail();
}

void read_ranges(const ColumnMap& columns, BlockHeader& header, ByteReader& status) {
  if (header.lines > 0) {
    ByteReader times = columns.reader(kTimes);
    header.time = read_min_max<UnixNanos>(times);
    header.observed = read_min_max<UnixNanos>(times);
    if (!times.ok()) status.fail();
  }
  if (columns.find(kIteration)) {
    ByteReader in = columns.reader(kIteration);
    header.iteration = read_min_max<std::int64_t>(in);
    if (!in.ok()) status.fail();
  }
  if (columns.find(kWrapperRank)) {
    ByteReader in = columns.reader(kWrapperRank);
    header.wrapper_rank = read_min_max<std::int32_t>(in);
    if (!in.ok()) status.fail();
  }
}

std::string directory_bytes(const std::vector<SectionEntry>& directory) {
  std::string bytes;
  ByteWriter out(bytes);
  if (directory.empty()) return bytes;
  out.varint(directory.size());
  for (const SectionEntry& entry : directory) {
    out.varint(entry.id);
    out.u8(entry.codec);
    out.varint(entry.raw_length);
    out.varint(entry.stored_length);
  }
  return bytes;
}

void read_directory(ByteReader in, ParsedHeader& out, ByteReader& status) {
  std::size_t left = out.total_length - out.header_length;
  for (std::size_t count = read_count(in); count > 0 && in.ok(); --count) {
    SectionEntry& entry = out.sections.emplace_back();
    entry.id = in.varint();
    entry.codec = in.u8();
    entry.raw_length = in.varint();
    entry.stored_length = in.varint();
    if (entry.stored_length > left) in.fail();
    if (in.ok()) left -= static_cast<std::size_t>(entry.stored_length);
  }
  if (!in.ok() || left != 0) status.fail();
}

std::string header_columns(const BlockHeader& header, const std::vector<SectionEntry>& directory) {
  std::string out;
  ColumnWriter columns(out);
  columns.add(kIdentity, identity(header));
  std::string bytes;
  ByteWriter writer(bytes);
  if (header.lines > 0) {
    write_min_max(writer, header.time.min, header.time.max);
    write_min_max(writer, header.observed.min, header.observed.max);
  }
  columns.add(kTimes, bytes);
  bytes.clear();
  if (header.iteration) write_min_max(writer, header.iteration->min, header.iteration->max);
  columns.add(kIteration, bytes);
  bytes.clear();
  if (header.wrapper_rank) {
    write_min_max(writer, header.wrapper_rank->min, header.wrapper_rank->max);
  }
  columns.add(kWrapperRank, bytes);
  columns.add(kCallsites, callsites(header));
  columns.add(kBodyTemplates, template_ids(header.body_templates));
  columns.add(kStoredTemplates, stored_templates(header));
  columns.add(kFields, fields(header));
  columns.add(kEvents, events(header));
  columns.add(kGaps, gaps(header));
  columns.add(kFilter, header.filter);
  columns.add(kSections, directory_bytes(directory));
  return out;
}

}  // namespace

std::string encode_header(const BlockHeader& header, const std::vector<SectionEntry>& directory,
                          std::string_view sections) {
  const std::string columns = header_columns(header, directory);
  std::string out;
  ByteWriter writer(out);
  writer.bytes(std::string_view(block_format::kMagic, sizeof block_format::kMagic));
  writer.u16(header.version);
  writer.u16(0);
  writer.u32(static_cast<std::uint32_t>(kFixed + columns.size()));
  writer.u32(static_cast<std::uint32_t>(kFixed + columns.size() + sections.size()));
  writer.u32(0);
  writer.u32(crc32c(sections));
  writer.bytes(columns);
  writer.patch_u32(kHeaderCrcAt, header_crc(out));
  return out;
}

Result<std::size_t> header_length(std::string_view bytes) {
  if (bytes.size() < kFixed) return corrupt("shorter than its fixed part");
  if (bytes.substr(0, 4) != std::string_view(block_format::kMagic, 4)) return corrupt("magic");
  ByteReader in(bytes.substr(kVersionAt));
  const std::uint16_t version = in.u16();
  if (version > block_format::kVersion) {
    return Error(ErrorCode::unavailable, "block of newer version " + std::to_string(version));
  }
  if (version < block_format::kOldestReadable) return corrupt("version");
  in.u16();
  const std::uint32_t length = in.u32();
  const std::uint32_t total = in.u32();
  if (total > block_format::kMaxBlockBytes) return Error(ErrorCode::too_large, "block");
  if (length < kFixed || length > total || length > bytes.size()) return corrupt("lengths");
  return std::size_t{length};
}

Result<ParsedHeader> decode_header(std::string_view bytes) {
  ParsedHeader out;
  LGR_TRY(out.header_length, header_length(bytes));
  const std::string_view part = bytes.substr(0, out.header_length);
  out.header.version = ByteReader(part.substr(kVersionAt)).u16();
  out.total_length = ByteReader(part.substr(kTotalLengthAt)).u32();
  out.sections_crc = ByteReader(part.substr(kSectionsCrcAt)).u32();
  if (ByteReader(part.substr(kHeaderCrcAt)).u32() != header_crc(part)) {
    return corrupt("header checksum");
  }
  const auto columns = ColumnMap::parse(part.substr(kFixed));
  if (!columns) return corrupt("header columns");
  ByteReader status;  // fails when any part does
  read_identity(columns->reader(kIdentity), out.header, status);
  if (!status.ok()) return corrupt("identity");
  read_ranges(*columns, out.header, status);
  read_templates(*columns, out.header, status);
  read_fields(columns->reader(kFields), out.header.fields, status);
  read_lists(*columns, out.header, status);
  out.header.filter = columns->find(kFilter).value_or("");
  read_directory(columns->reader(kSections), out, status);
  if (!status.ok()) return corrupt("header");
  return out;
}

}  // namespace logarithm::block
