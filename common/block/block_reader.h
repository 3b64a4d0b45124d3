#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/block/block_header.h"
#include "common/block/row_set.h"

namespace logarithm {

// Texts of templates by id; nullopt when unknown. The text stays valid while the lookup does.
using TemplateLookup = std::function<std::optional<std::string_view>(TemplateId)>;

// Parses a header (bounds-checked; never trusts the input). `bytes` may be the whole block or, for
// pruning, just its header part as header_bytes() gives it.
Result<BlockHeader> parse_block_header(std::string_view bytes);
// Size of the header part of an encoded block; the shard stores it apart from the columns.
Result<std::size_t> header_bytes(std::string_view block);

// Rows that may contain a text; `exact`: each of them does.
struct TextRows {
  RowSet rows;
  bool exact = false;
};

// Sections of a block that can be decoded apart from each other.
enum class BlockPart : std::uint8_t {
  facts = 1,   // all but texts and metadata
  fields = 2,  // metadata pairs and event marks
  text = 4,    // raw, with positions
};
constexpr BlockPart operator|(BlockPart a, BlockPart b) {
  return static_cast<BlockPart>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}

// An encoded block -> lines. Holds views into `bytes`, which must outlive it. One thread.
class BlockReader {
 public:
  // Checks magic, version, lengths and CRC32C. Error{corrupt} for damage, Error{unavailable} for a
  // newer version.
  static Result<BlockReader> open(std::string_view bytes);
  ~BlockReader();
  BlockReader(BlockReader&&) noexcept;
  BlockReader& operator=(BlockReader&&) noexcept;

  const BlockHeader& header() const;

  // Decodes the parts asked for of every line, in offset order; other members keep their defaults.
  // Error{not_found} names a template that `lookup` does not know (retryable), Error{corrupt} else.
  // With `keys`, BlockPart::fields gives only the pairs of these keys (and all event marks).
  Result<std::vector<Line>> lines(BlockPart parts, const TemplateLookup& lookup,
                                  const std::vector<std::string>* keys = nullptr) const;
  // The same for some rows alone: of all others nothing is made. Rows that the block does not have
  // are Error{invalid}. `lookup` may be empty where no text is asked for.
  Result<std::vector<Line>> lines(BlockPart parts, const RowSet& rows,
                                  const TemplateLookup& lookup = {},
                                  const std::vector<std::string>* keys = nullptr) const;

  // What can be told of rows without making lines.
  // Where they stand, in order. Rows that the block does not have are Error{invalid}.
  Result<std::vector<RowMark>> marks(const RowSet& rows) const;
  // Those of lines with these offsets, which ascend; offsets that no line has are passed over.
  Result<RowSet> rows_at(const std::vector<std::uint64_t>& offsets) const;
  // Those that carry an event, ascending.
  Result<std::vector<std::uint32_t>> event_rows() const;
  // Those that have a value of `key` that `wanted` accepts.
  Result<RowSet> rows_with_value(const std::string& key,
                                 const std::function<bool(const MetaValue&)>& wanted) const;
  // Those whose text may contain `literal` (case-sensitive): all that do are among them. nullopt:
  // nothing is known, any row may.
  Result<std::optional<TextRows>> rows_with_text(std::string_view literal,
                                                 const TemplateLookup& lookup) const;

 private:
  class Impl;
  explicit BlockReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace logarithm
