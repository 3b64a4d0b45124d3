#include "common/wire/frame.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/io/byte_codec.h"
#include "common/wire/frame_header.h"
#include "common/wire/frame_json.h"

namespace logarithm::wire {
namespace {

// Control frames are small; a JSON tree takes many times its text.
constexpr std::size_t kMaxControl = 4u << 20;

Error corrupt(std::string message) { return Error(ErrorCode::corrupt, std::move(message)); }

template <typename Message>
void encode_payload(std::string& out, const Message& message) {
  nlohmann::json json;
  JsonWriter writer(json);
  fields(writer, message);
  out += json_fields::dump(json);
}

void encode_payload(std::string& out, const Templates& message) {
  ByteWriter writer(out);
  writer.varint(message.templates.size());
  std::string entry;
  for (const TemplateDef& definition : message.templates) {
    entry.clear();
    ByteWriter fields_of(entry);
    fields_of.u64(definition.id);
    fields_of.u8(static_cast<std::uint8_t>(definition.kind));
    fields_of.u8(definition.mask_version);
    fields_of.sized(definition.text);
    writer.sized(entry);
  }
}

void encode_payload(std::string& out, const Block& message) {
  ByteWriter writer(out);
  writer.u64(message.stream.base.hi);
  writer.u64(message.stream.base.lo);
  writer.u32(message.stream.generation);
  writer.u64(message.first);
  writer.u64(message.end);
  writer.sized(message.job);
  writer.bytes(message.bytes);
}

template <typename Message>
Result<std::optional<Frame>> decode_payload(std::string_view payload, Message message) {
  if (payload.size() > kMaxControl) return Error(ErrorCode::too_large, "control frame");
  try {
    const nlohmann::json json = json_fields::parse(payload);
    JsonReader reader(json);
    fields(reader, message);
  } catch (const nlohmann::json::exception& problem) {
    return corrupt(problem.what());
  }
  return std::optional<Frame>(std::move(message));
}

Result<std::optional<Frame>> decode_payload(std::string_view payload, Templates message) {
  ByteReader reader(payload);
  const std::size_t count = reader.count(1);
  for (std::size_t i = 0; i < count && reader.ok(); ++i) {
    ByteReader entry(reader.sized());
    TemplateDef definition;
    definition.id = entry.u64();
    const std::uint8_t kind = entry.u8();
    definition.mask_version = entry.u8();
    definition.text = entry.sized();  // what follows is a later version's
    if (!entry.ok()) return corrupt("template definition cut short");
    if (kind > static_cast<std::uint8_t>(TemplateKind::prefix)) {
      return corrupt("unknown kind of template");
    }
    definition.kind = static_cast<TemplateKind>(kind);
    message.templates.push_back(std::move(definition));
  }
  if (!reader.ok()) return corrupt("template list cut short");
  return std::optional<Frame>(std::move(message));
}

Result<std::optional<Frame>> decode_payload(std::string_view payload, Block message) {
  ByteReader reader(payload);
  message.stream.base.hi = reader.u64();
  message.stream.base.lo = reader.u64();
  message.stream.generation = reader.u32();
  message.first = reader.u64();
  message.end = reader.u64();
  message.job = reader.sized();
  message.bytes = reader.bytes(reader.remaining());
  if (!reader.ok() || message.first > message.end) return corrupt("block frame");
  return std::optional<Frame>(std::move(message));
}

template <std::size_t... Index>
Result<std::optional<Frame>> decode_type(std::size_t index, std::string_view payload,
                                         std::index_sequence<Index...>) {
  Result<std::optional<Frame>> result = std::optional<Frame>();
  static_cast<void>(
      ((index == Index &&
        (result = decode_payload(payload, std::variant_alternative_t<Index, Frame>{}), true)) ||
       ...));
  return result;
}

}  // namespace

std::string encode(const Frame& frame) {
  std::string out;
  begin_frame(out, static_cast<std::uint8_t>(frame.index() + 1));
  std::visit([&out](const auto& message) { encode_payload(out, message); }, frame);
  end_frame(out);
  return out;
}

Result<std::optional<Frame>> decode(std::string_view bytes) {
  LGR_TRY(const FrameHeader header, read_header(bytes));
  if (header.type > std::variant_size_v<Frame>) return std::optional<Frame>();
  if (header.flags != 0) return corrupt("unknown frame flags");
  auto result = decode_type(std::size_t{header.type} - 1, bytes.substr(kHeaderBytes),
                            std::make_index_sequence<std::variant_size_v<Frame>>());
  return std::move(result).with_context("frame type " + std::to_string(header.type));
}

std::string_view to_string(RefuseCode code) {
  switch (code) {
    case RefuseCode::overloaded: return "overloaded";
    case RefuseCode::no_space: return "no_space";
    case RefuseCode::unknown_template: return "unknown_template";
    case RefuseCode::unknown_stream: return "unknown_stream";
    case RefuseCode::overlap: return "overlap";
    case RefuseCode::not_yours: return "not_yours";
    case RefuseCode::corrupt: return "corrupt";
    case RefuseCode::template_conflict: return "template_conflict";
    case RefuseCode::too_large: return "too_large";
    case RefuseCode::forbidden: return "forbidden";
    case RefuseCode::unsupported: return "unsupported";
  }
  return "unknown";
}

}  // namespace logarithm::wire
