#include "common/block/block_reader.h"

#include "common/block/facts_section.h"
#include "common/block/fields_section.h"
#include "common/block/header_codec.h"
#include "common/block/section.h"
#include "common/block/text_section.h"
#include "common/io/crc32c.h"

namespace logarithm {
namespace {

using namespace block;

bool has(BlockPart parts, BlockPart part) {
  return (static_cast<std::uint8_t>(parts) & static_cast<std::uint8_t>(part)) != 0;
}

}  // namespace

class BlockReader::Impl {
 public:
  Impl(ParsedHeader parsed, std::string_view bytes) : parsed_(std::move(parsed)), bytes_(bytes) {}

  // The columns of a section, none when the block has no such section. They view `buffer`.
  Result<ColumnMap> columns(SectionId id, std::string& buffer) const;

  ParsedHeader parsed_;
  std::string_view bytes_;
};

Result<ColumnMap> BlockReader::Impl::columns(SectionId id, std::string& buffer) const {
  std::size_t at = parsed_.header_length;
  for (const SectionEntry& entry : parsed_.sections) {
    const auto length = static_cast<std::size_t>(entry.stored_length);
    if (entry.id == static_cast<std::uint64_t>(id)) {
      LGR_TRY(const std::string_view raw, unpack_section(entry, bytes_.substr(at, length), buffer));
      auto columns = ColumnMap::parse(raw);
      if (!columns) return Error(ErrorCode::corrupt, "block: columns of a section");
      return std::move(*columns);
    }
    at += length;
  }
  return ColumnMap();
}

BlockReader::BlockReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BlockReader::~BlockReader() = default;
BlockReader::BlockReader(BlockReader&&) noexcept = default;
BlockReader& BlockReader::operator=(BlockReader&&) noexcept = default;

Result<BlockReader> BlockReader::open(std::string_view bytes) {
  LGR_TRY(ParsedHeader parsed, decode_header(bytes));
  if (parsed.total_length != bytes.size()) {
    return Error(ErrorCode::corrupt, "block: length");
  }
  if (crc32c(bytes.substr(parsed.header_length)) != parsed.sections_crc) {
    return Error(ErrorCode::corrupt, "block: checksum");
  }
  return BlockReader(std::make_unique<Impl>(std::move(parsed), bytes));
}

const BlockHeader& BlockReader::header() const { return impl_->parsed_.header; }

Result<std::vector<Line>> BlockReader::lines(BlockPart parts, const TemplateLookup& lookup,
                                             const std::vector<std::string>* keys) const {
  const BlockHeader& header = impl_->parsed_.header;
  std::vector<Line> out(header.lines);
  ItemBudget budget;
  std::string facts_buffer, buffer;
  ColumnMap facts;
  if (has(parts, BlockPart::facts) || has(parts, BlockPart::text)) {
    LGR_TRY(facts, impl_->columns(SectionId::facts, facts_buffer));
  }
  if (has(parts, BlockPart::facts)) LGR_CHECK(decode_facts(facts, header, budget, out));
  if (has(parts, BlockPart::fields)) {
    LGR_TRY(const ColumnMap columns, impl_->columns(SectionId::fields, buffer));
    LGR_CHECK(decode_fields(columns, header, keys, budget, out));
  }
  if (has(parts, BlockPart::text)) {
    LGR_TRY(const ColumnMap columns, impl_->columns(SectionId::text, buffer));
    LGR_CHECK(decode_text(columns, facts, header, lookup, budget, out));
  }
  return out;
}

Result<BlockHeader> parse_block_header(std::string_view bytes) {
  LGR_TRY(ParsedHeader parsed, decode_header(bytes));
  return std::move(parsed.header);
}

Result<std::size_t> header_bytes(std::string_view block) { return block::header_length(block); }

}  // namespace logarithm
