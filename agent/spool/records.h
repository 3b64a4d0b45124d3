#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/ports/stream_log.h"
#include "agent/spool/segment_format.h"
#include "common/base/result.h"
#include "common/block/block_header.h"
#include "common/wire/frame.h"

// Payloads of the spool's records as plain data, and their bytes. Pure: no I/O, no state.
namespace logarithm::agent {

struct HeaderRecord {
  std::uint16_t version = segment_format::kVersion;
  std::uint64_t sequence = 0;
  std::uint64_t next_number = 1;
  std::uint64_t next_fact = 1;
};

// What changes rarely about a stream. An append refers to it by the CRC32C of these bytes, so that
// it is never combined with another version after damage.
struct StreamRecord {
  StreamId stream;
  std::string head;
  std::optional<std::uint32_t> predecessor;
  std::string source;                      // of spools that kept it here; now with every append
  std::vector<StreamAttributes> versions;  // ascending; those that kept blocks use, and the newest
};

// What changes with every append.
struct StreamPosition {
  std::uint64_t position = 0;
  std::uint32_t tail_crc = 0;
  std::string parser_state;
  bool closed = false;
  std::string close_reason;
  std::uint64_t close_size = 0;
  std::optional<std::string> source;  // at the record's end; records without it have the stream's
};

struct CheckpointRecord {
  StreamId stream;
  std::uint32_t facts_crc = 0;
  StreamPosition at;
  std::uint64_t last = 0;              // number of the stream's newest append
  bool forgotten = false;              // kept only until its facts are delivered
  std::vector<std::uint64_t> unacked;  // numbers of its blocks that must lie in earlier segments
};

struct AppendRecord {
  std::uint64_t number = 0;
  std::uint64_t previous = 0;  // the stream's append before this one; 0: none
  StreamId stream;
  std::uint32_t facts_crc = 0;
  StreamPosition at;
  bool has_block = false;
  std::uint32_t attributes_version = 0;
  std::uint64_t first = 0, end = 0;
  std::vector<TemplateId> needs;       // every template of the block
  std::vector<TemplateDef> templates;  // those that the segment did not have yet
  std::string_view block;
};

// Something that the aggregator must be told beside blocks.
struct Fact {
  std::uint64_t id = 0;
  std::variant<ProcessInfo, wire::GapReport, wire::Closed> value;
};

struct ForgetRecord {
  StreamId stream;
};

// Numbers: acked blocks, or delivered facts.
struct NumbersRecord {
  std::vector<std::uint64_t> numbers;
};

std::string encode(const HeaderRecord& record);
std::string encode(const StreamRecord& record);
std::string encode(const CheckpointRecord& record);
std::string encode(const AppendRecord& record);
std::string encode(const Fact& record);
std::string encode(const ForgetRecord& record);
std::string encode(const NumbersRecord& record);

// Each is Error{corrupt} for bytes that are no such record.
Result<HeaderRecord> decode_header(std::string_view payload);
Result<StreamRecord> decode_stream(std::string_view payload);
Result<CheckpointRecord> decode_checkpoint(std::string_view payload);
// `block` is a view into `payload`.
Result<AppendRecord> decode_append(std::string_view payload);
Result<Fact> decode_fact(std::string_view payload);
Result<ForgetRecord> decode_forget(std::string_view payload);
Result<NumbersRecord> decode_numbers(std::string_view payload);

}  // namespace logarithm::agent
