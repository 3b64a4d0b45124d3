#include "agent/spool/records.h"

#include <nlohmann/json.hpp>

#include "common/io/byte_codec.h"
#include "common/model/model_json.h"

namespace logarithm::agent {
namespace {

using nlohmann::json;

Error corrupt(const char* what) {
  return Error(ErrorCode::corrupt, std::string("spool record: ") + what);
}

// JSON with bytes that may be no UTF-8 (paths): replaced rather than refused.
std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void put_stream(ByteWriter& out, const StreamId& stream) {
  out.u64(stream.base.hi);
  out.u64(stream.base.lo);
  out.u32(stream.generation);
}

StreamId get_stream(ByteReader& in) {
  StreamId stream;
  stream.base.hi = in.u64();
  stream.base.lo = in.u64();
  stream.generation = in.u32();
  return stream;
}

void put_position(ByteWriter& out, const StreamPosition& at) {
  out.varint(at.position);
  out.u32(at.tail_crc);
  out.sized(at.parser_state);
  out.u8(at.closed ? 1 : 0);
  out.sized(at.close_reason);
  out.varint(at.close_size);
}

StreamPosition get_position(ByteReader& in) {
  StreamPosition at;
  at.position = in.varint();
  at.tail_crc = in.u32();
  at.parser_state = in.sized();
  at.closed = in.u8() != 0;
  at.close_reason = in.sized();
  at.close_size = in.varint();
  return at;
}

// Fields that came later are at the end of a record: older readers do not see them.
void put_source(ByteWriter& out, const StreamPosition& at) { out.sized(at.source.value_or("")); }

void get_source(ByteReader& in, StreamPosition& at) {
  if (!in.at_end()) at.source = in.sized();
}

void put_numbers(ByteWriter& out, const std::vector<std::uint64_t>& numbers) {
  out.varint(numbers.size());
  for (const std::uint64_t number : numbers) out.varint(number);
}

std::vector<std::uint64_t> get_numbers(ByteReader& in) {
  std::vector<std::uint64_t> numbers(in.count(1));
  for (std::uint64_t& number : numbers) number = in.varint();
  return numbers;
}

}  // namespace

std::string encode(const HeaderRecord& record) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u16(record.version);
  out.u64(record.sequence);
  out.u64(record.next_number);
  out.u64(record.next_fact);
  return bytes;
}

Result<HeaderRecord> decode_header(std::string_view payload) {
  ByteReader in(payload);
  HeaderRecord record;
  record.version = in.u16();
  record.sequence = in.u64();
  record.next_number = in.u64();
  record.next_fact = in.u64();
  if (!in.ok()) return corrupt("header");
  return record;
}

std::string encode(const StreamRecord& record) {
  std::string bytes;
  ByteWriter out(bytes);
  put_stream(out, record.stream);
  out.sized(record.head);
  out.u8(record.predecessor ? 1 : 0);
  out.u32(record.predecessor.value_or(0));
  out.sized(record.source);
  out.varint(record.versions.size());
  for (const StreamAttributes& version : record.versions) out.sized(dump(json(version)));
  return bytes;
}

Result<StreamRecord> decode_stream(std::string_view payload) {
  ByteReader in(payload);
  StreamRecord record;
  record.stream = get_stream(in);
  record.head = in.sized();
  const bool has_predecessor = in.u8() != 0;
  const std::uint32_t predecessor = in.u32();
  if (has_predecessor) record.predecessor = predecessor;
  record.source = in.sized();
  const std::size_t count = in.count(1);
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    const std::string_view text = in.sized();
    try {
      record.versions.push_back(json::parse(text).get<StreamAttributes>());
    } catch (const json::exception&) {
      return corrupt("attributes");
    }
  }
  if (!in.ok() || record.versions.empty()) return corrupt("stream");
  return record;
}

std::string encode(const CheckpointRecord& record) {
  std::string bytes;
  ByteWriter out(bytes);
  put_stream(out, record.stream);
  out.u32(record.facts_crc);
  put_position(out, record.at);
  out.varint(record.last);
  out.u8(record.forgotten ? 1 : 0);
  put_numbers(out, record.unacked);
  put_source(out, record.at);
  return bytes;
}

Result<CheckpointRecord> decode_checkpoint(std::string_view payload) {
  ByteReader in(payload);
  CheckpointRecord record;
  record.stream = get_stream(in);
  record.facts_crc = in.u32();
  record.at = get_position(in);
  record.last = in.varint();
  record.forgotten = in.u8() != 0;
  record.unacked = get_numbers(in);
  get_source(in, record.at);
  if (!in.ok()) return corrupt("checkpoint");
  return record;
}

std::string encode(const AppendRecord& record) {
  std::string bytes;
  bytes.reserve(record.block.size() + record.at.parser_state.size() + 16 * record.needs.size() +
                256);
  ByteWriter out(bytes);
  out.varint(record.number);
  out.varint(record.previous);
  put_stream(out, record.stream);
  out.u32(record.facts_crc);
  put_position(out, record.at);
  out.u8(record.has_block ? 1 : 0);
  if (!record.has_block) {
    put_source(out, record.at);
    return bytes;
  }
  out.varint(record.attributes_version);
  out.varint(record.first);
  out.varint(record.end);
  out.varint(record.needs.size());
  for (const TemplateId id : record.needs) out.u64(id);
  out.varint(record.templates.size());
  for (const TemplateDef& def : record.templates) {
    out.u64(def.id);
    out.u8(static_cast<std::uint8_t>(def.kind));
    out.u8(def.mask_version);
    out.sized(def.text);
  }
  out.sized(record.block);
  put_source(out, record.at);
  return bytes;
}

Result<AppendRecord> decode_append(std::string_view payload) {
  ByteReader in(payload);
  AppendRecord record;
  record.number = in.varint();
  record.previous = in.varint();
  record.stream = get_stream(in);
  record.facts_crc = in.u32();
  record.at = get_position(in);
  record.has_block = in.u8() != 0;
  if (record.has_block) {
    record.attributes_version = in.narrow_varint<std::uint32_t>();
    record.first = in.varint();
    record.end = in.varint();
    record.needs.resize(in.count(8));
    for (TemplateId& id : record.needs) id = in.u64();
    record.templates.resize(in.count(11));
    for (TemplateDef& def : record.templates) {
      def.id = in.u64();
      def.kind = static_cast<TemplateKind>(in.u8());
      def.mask_version = in.u8();
      def.text = in.sized();
    }
    record.block = in.sized();
  }
  get_source(in, record.at);
  if (!in.ok()) return corrupt("append");
  return record;
}

std::string encode(const Fact& record) {
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(record.id);
  out.u8(static_cast<std::uint8_t>(record.value.index()));
  if (const auto* process = std::get_if<ProcessInfo>(&record.value)) {
    out.sized(dump(json(*process)));
  } else if (const auto* report = std::get_if<wire::GapReport>(&record.value)) {
    put_stream(out, report->stream);
    out.sized(report->job);
    out.sized(dump(json(report->gap)));
  } else if (const auto* closed = std::get_if<wire::Closed>(&record.value)) {
    put_stream(out, closed->stream);
    out.sized(closed->job);
    out.varint(closed->size);
    out.sized(closed->reason);
  }
  return bytes;
}

Result<Fact> decode_fact(std::string_view payload) {
  ByteReader in(payload);
  Fact fact;
  fact.id = in.varint();
  const std::uint8_t kind = in.u8();
  try {
    if (kind == 0) {
      fact.value = json::parse(in.sized()).get<ProcessInfo>();
    } else if (kind == 1) {
      wire::GapReport report;
      report.stream = get_stream(in);
      report.job = in.sized();
      report.gap = json::parse(in.sized()).get<Gap>();
      fact.value = std::move(report);
    } else if (kind == 2) {
      wire::Closed closed;
      closed.stream = get_stream(in);
      closed.job = in.sized();
      closed.size = in.varint();
      closed.reason = in.sized();
      fact.value = std::move(closed);
    } else {
      return corrupt("kind of fact");
    }
  } catch (const json::exception&) {
    return corrupt("fact");
  }
  if (!in.ok()) return corrupt("fact");
  return fact;
}

std::string encode(const ForgetRecord& record) {
  std::string bytes;
  ByteWriter out(bytes);
  put_stream(out, record.stream);
  return bytes;
}

Result<ForgetRecord> decode_forget(std::string_view payload) {
  ByteReader in(payload);
  ForgetRecord record;
  record.stream = get_stream(in);
  if (!in.ok()) return corrupt("forget");
  return record;
}

std::string encode(const NumbersRecord& record) {
  std::string bytes;
  ByteWriter out(bytes);
  put_numbers(out, record.numbers);
  return bytes;
}

Result<NumbersRecord> decode_numbers(std::string_view payload) {
  ByteReader in(payload);
  NumbersRecord record;
  record.numbers = get_numbers(in);
  if (!in.ok()) return corrupt("numbers");
  return record;
}

}  // namespace logarithm::agent
