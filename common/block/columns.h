#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/block/block_limits.h"
#include "common/block/int_column.h"
#include "common/io/byte_codec.h"

// The container of everything in a block, header and sections alike: a run of (id varint, length
// varint, bytes). Readers skip ids that they do not know, and an absent column is a column of
// defaults: that is the whole versioning rule.
namespace logarithm::block {

class ColumnWriter {
 public:
  explicit ColumnWriter(std::string& out) : out_(out) {}

  // Left out when there is nothing in it.
  void add(std::uint64_t id, std::string_view bytes) {
    if (bytes.empty()) return;
    out_.varint(id);
    out_.sized(bytes);
  }

  // Left out when all values are 0.
  void add_ints(std::uint64_t id, const std::vector<std::uint64_t>& values) {
    bool any = false;
    for (const std::uint64_t value : values) any = any || value != 0;
    if (!any) return;
    std::string bytes;
    encode_ints(values, bytes);
    add(id, bytes);
  }

 private:
  ByteWriter out_;
};

// The columns of a container by id. Views the bytes.
class ColumnMap {
 public:
  ColumnMap() = default;
  // nullopt when the container is cut short, too many or out of order.
  static std::optional<ColumnMap> parse(std::string_view bytes) {
    ColumnMap out;
    ByteReader in(bytes);
    while (!in.at_end()) {
      const std::uint64_t id = in.varint();
      const std::string_view column = in.sized();
      const bool ascends = out.columns_.empty() || out.columns_.back().id < id;
      if (!in.ok() || !ascends || out.columns_.size() >= kMaxColumns) return std::nullopt;
      out.columns_.push_back({id, column});
    }
    return out;
  }

  std::optional<std::string_view> find(std::uint64_t id) const {
    const auto at = std::lower_bound(columns_.begin(), columns_.end(), id,
                                     [](const Column& c, std::uint64_t i) { return c.id < i; });
    if (at == columns_.end() || at->id != id) return std::nullopt;
    return at->bytes;
  }
  IntCursor ints(std::uint64_t id) const {
    const auto column = find(id);
    return column ? IntCursor(*column) : IntCursor();
  }
  ByteReader reader(std::uint64_t id) const { return ByteReader(find(id).value_or("")); }

 private:
  struct Column {
    std::uint64_t id;
    std::string_view bytes;
  };
  std::vector<Column> columns_;
};

}  // namespace logarithm::block
