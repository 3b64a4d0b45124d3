#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/wire/frame.h"
#include "tests/support/reseal.h"

// Any bytes as a frame, checksum made right: what decodes can be encoded and decoded again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace logarithm;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  test::reseal_frame(bytes);
  const auto frame = wire::decode(bytes);
  if (!frame.ok() || !frame->has_value()) return 0;
  if (!wire::decode(wire::encode(**frame)).ok()) std::abort();
  return 0;
}
