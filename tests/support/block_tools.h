#pragma once

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/block/block_reader.h"
#include "common/block/block_writer.h"
#include "tests/support/reseal.h"

namespace logarithm::test {

inline std::optional<std::string_view> no_templates(TemplateId) { return std::nullopt; }

// One block of these lines.
inline EncodedBlock encode(const std::vector<Line>& lines) {
  BlockWriter writer({{0x1122334455667788ull, 0x99AABBCCDDEEFF00ull}, 7}, 3);
  for (const Line& line : lines) writer.add(line);
  auto block = writer.finish(0xCAFEBABEu);
  REQUIRE_MESSAGE(block.ok(), block.error().to_string());
  return std::move(block).value();
}

// Looks templates up among the definitions that came with a block.
class TemplateTable {
 public:
  explicit TemplateTable(const std::vector<TemplateDef>& definitions) {
    for (const TemplateDef& definition : definitions) texts_[definition.id] = definition.text;
  }
  std::optional<std::string_view> operator()(TemplateId id) const {
    const auto found = texts_.find(id);
    if (found == texts_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::map<TemplateId, std::string> texts_;
};

inline std::vector<Line> decode(const EncodedBlock& block, BlockPart parts) {
  auto reader = BlockReader::open(block.bytes);
  REQUIRE_MESSAGE(reader.ok(), reader.error().to_string());
  const TemplateTable table(block.templates);
  auto lines = reader->lines(parts, [&table](TemplateId id) { return table(id); });
  REQUIRE_MESSAGE(lines.ok(), lines.error().to_string());
  return std::move(lines).value();
}

}  // namespace logarithm::test
