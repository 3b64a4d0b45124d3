#include "common/wire/batch.h"

#include "common/io/byte_codec.h"
#include "common/wire/frame.h"
#include "common/wire/frame_header.h"

namespace logarithm::wire {
namespace {

constexpr std::uint8_t kBatch = 18;
static_assert(kBatch > std::variant_size_v<Frame>);

}  // namespace

bool is_batch(std::string_view message) {
  return !message.empty() && static_cast<std::uint8_t>(message.front()) == kBatch;
}

std::string encode_batch(const std::vector<std::string>& frames) {
  std::size_t bytes = kHeaderBytes;
  for (const std::string& frame : frames) bytes += 4 + frame.size();
  std::string out;
  out.reserve(bytes);
  begin_frame(out, kBatch);
  ByteWriter writer(out);
  for (const std::string& frame : frames) writer.sized(frame);
  end_frame(out);
  return out;
}

Result<std::vector<std::string_view>> decode_batch(std::string_view message) {
  LGR_TRY(const FrameHeader header, read_header(message));
  if (header.type != kBatch || header.flags != 0) {
    return Error(ErrorCode::corrupt, "not a batch of frames");
  }
  std::vector<std::string_view> frames;
  ByteReader reader(message.substr(kHeaderBytes));
  while (!reader.at_end()) {
    const std::string_view frame = reader.sized();
    if (!reader.ok() || frame.empty() || is_batch(frame)) {
      return Error(ErrorCode::corrupt, "batch of frames");
    }
    frames.push_back(frame);
  }
  return frames;
}

}  // namespace logarithm::wire
