#include <cstddef>
#include <cstdint>
#include <string>

#include "common/block/block_reader.h"
#include "common/block/token_filter.h"
#include "common/line/template.h"
#include "tests/support/reseal.h"

// Any bytes as a block, checksums made right: readers answer or refuse, and stay within bounds.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace logarithm;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  test::reseal_crc(bytes);
  const auto header = parse_block_header(bytes);
  if (header.ok()) static_cast<void>(filter_may_contain(header->filter, token_hash("token")));
  const auto reader = BlockReader::open(bytes);
  if (!reader.ok()) return 0;
  // Texts with 0 to 3 slots, by the id, so that both the input and the engine can choose.
  static const std::string texts[] = {"step", std::string("step ") + kSlot,
                                      std::string("a ") + kSlot + " b " + kSlot,
                                      std::string(3, kSlot)};
  const auto lookup = [](TemplateId id) -> std::optional<std::string_view> {
    return texts[id % 4];
  };
  for (const auto part : {BlockPart::facts, BlockPart::fields, BlockPart::text}) {
    static_cast<void>(reader->lines(part, lookup).ok());
  }
  return 0;
}
