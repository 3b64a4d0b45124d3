#include "common/block/block_reader.h"

#include <map>

#include "common/block/facts_section.h"
#include "common/block/fields_section.h"
#include "common/block/header_codec.h"
#include "common/block/section.h"
#include "common/block/text_search.h"
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

  // The columns of a section, none when the block has no such section. Unpacked once; they live as
  // long as this does.
  Result<ColumnMap> columns(SectionId id) const;

  ParsedHeader parsed_;
  std::string_view bytes_;

 private:
  struct Opened {
    std::string buffer;
    ColumnMap columns;
  };
  mutable std::map<SectionId, Opened> opened_;
};

Result<ColumnMap> BlockReader::Impl::columns(SectionId id) const {
  if (const auto known = opened_.find(id); known != opened_.end()) return known->second.columns;
  std::size_t at = parsed_.header_length;
  for (const SectionEntry& entry : parsed_.sections) {
    const auto length = static_cast<std::size_t>(entry.stored_length);
    if (entry.id == static_cast<std::uint64_t>(id)) {
      Opened& opened = opened_[id];
      auto raw = unpack_section(entry, bytes_.substr(at, length), opened.buffer);
      auto columns = raw.ok() ? ColumnMap::parse(*raw) : std::nullopt;
      if (columns) {
        opened.columns = std::move(*columns);
        return opened.columns;
      }
      opened_.erase(id);
      if (!raw.ok()) return raw.error();
      return Error(ErrorCode::corrupt, "block: columns of a section");
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
  return lines(parts, RowSet::all(header().lines), lookup, keys);
}

Result<std::vector<Line>> BlockReader::lines(BlockPart parts, const RowSet& rows,
                                             const TemplateLookup& lookup,
                                             const std::vector<std::string>* keys) const {
  const BlockHeader& header = impl_->parsed_.header;
  if (rows.end() > header.lines) return Error(ErrorCode::invalid, "block: rows");
  std::vector<Line> out(rows.count());
  ItemBudget budget;
  ColumnMap facts;
  if (has(parts, BlockPart::facts) || has(parts, BlockPart::text)) {
    LGR_TRY(facts, impl_->columns(SectionId::facts));
  }
  if (has(parts, BlockPart::facts)) LGR_CHECK(decode_facts(facts, header, rows, budget, out));
  if (has(parts, BlockPart::fields)) {
    LGR_TRY(const ColumnMap columns, impl_->columns(SectionId::fields));
    LGR_CHECK(decode_fields(columns, header, rows, keys, budget, out));
  }
  if (has(parts, BlockPart::text)) {
    LGR_TRY(const ColumnMap columns, impl_->columns(SectionId::text));
    LGR_CHECK(decode_text(columns, facts, header, lookup, rows, budget, out));
  }
  return out;
}

Result<std::vector<RowMark>> BlockReader::marks(const RowSet& rows) const {
  const BlockHeader& header = impl_->parsed_.header;
  if (rows.end() > header.lines) return Error(ErrorCode::invalid, "block: rows");
  LGR_TRY(const ColumnMap facts, impl_->columns(SectionId::facts));
  return block::decode_row_marks(facts, header, rows);
}

Result<RowSet> BlockReader::rows_at(const std::vector<std::uint64_t>& offsets) const {
  LGR_TRY(const ColumnMap facts, impl_->columns(SectionId::facts));
  return block::rows_at(facts, impl_->parsed_.header, offsets);
}

Result<RowSet> BlockReader::rows_with_value(
    const std::string& key, const std::function<bool(const MetaValue&)>& wanted) const {
  LGR_TRY(const ColumnMap columns, impl_->columns(SectionId::fields));
  return block::rows_with_value(columns, impl_->parsed_.header, key, wanted);
}

Result<std::optional<TextRows>> BlockReader::rows_with_text(std::string_view literal,
                                                            const TemplateLookup& lookup) const {
  LGR_TRY(const ColumnMap facts, impl_->columns(SectionId::facts));
  LGR_TRY(const ColumnMap columns, impl_->columns(SectionId::text));
  return block::rows_with_text(columns, facts, impl_->parsed_.header, lookup, literal);
}

Result<std::vector<std::uint32_t>> BlockReader::event_rows() const {
  const BlockHeader& header = impl_->parsed_.header;
  if (header.events.empty()) return std::vector<std::uint32_t>();
  LGR_TRY(const ColumnMap columns, impl_->columns(SectionId::fields));
  return block::event_rows(columns, header);
}

Result<BlockHeader> parse_block_header(std::string_view bytes) {
  LGR_TRY(ParsedHeader parsed, decode_header(bytes));
  return std::move(parsed.header);
}

Result<std::size_t> header_bytes(std::string_view block) { return block::header_length(block); }

}  // namespace logarithm
