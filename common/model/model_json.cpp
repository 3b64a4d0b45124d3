#include "common/model/model_json.h"

#include <nlohmann/json.hpp>

#include "common/model/json_fields.h"

namespace logarithm {
namespace {

using json_fields::read;
using nlohmann::json;

template <typename T>
void put(json& out, const char* key, const std::optional<T>& value) {
  if (value) out[key] = *value;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void to_json(json& out, const Gpu& gpu) {
  out = json{{"index", gpu.index}, {"uuid", gpu.uuid}, {"pci", gpu.pci}};
}

void from_json(const json& in, Gpu& gpu) {
  read(in, "index", gpu.index);
  read(in, "uuid", gpu.uuid);
  read(in, "pci", gpu.pci);
}

}  // namespace

void to_json(json& out, const ProcessInfo& process) {
  out = json::object();
  out["job"] = process.job;
  out["host"] = process.host;
  out["pid"] = process.pid;
  out["start"] = process.start;
  out["start_error"] = process.start_error;
  put(out, "exit", process.exit);
  out["exit_error"] = process.exit_error;
  put(out, "exit_status", process.exit_status);
  out["last_seen"] = process.last_seen;
  put(out, "rank", process.rank);
  put(out, "local_rank", process.local_rank);
  put(out, "group_rank", process.group_rank);
  put(out, "world_size", process.world_size);
  out["rank_source"] = process.rank_source;
  out["launcher"] = process.launcher;
  put(out, "restart_count", process.restart_count);
  put(out, "stated_attempt", process.stated_attempt);
  out["identity"] = process.identity;
  json gpus = json::array();
  for (const Gpu& gpu : process.gpus) {
    json item;
    to_json(item, gpu);
    gpus.push_back(std::move(item));
  }
  out["gpus"] = std::move(gpus);
  out["container"] = process.container;
  out["pod"] = process.pod;
  out["user"] = process.user;
  out["command"] = process.command;
  out["not_captured"] = process.not_captured;
}

void from_json(const json& in, ProcessInfo& process) {
  process = ProcessInfo{};
  for (const char* key : {"job", "host", "pid", "start"}) json_fields::require(in, key);
  read(in, "job", process.job);
  read(in, "host", process.host);
  read(in, "pid", process.pid);
  read(in, "start", process.start);
  read(in, "start_error", process.start_error);
  read(in, "exit", process.exit);
  read(in, "exit_error", process.exit_error);
  read(in, "exit_status", process.exit_status);
  read(in, "last_seen", process.last_seen);
  read(in, "rank", process.rank);
  read(in, "local_rank", process.local_rank);
  read(in, "group_rank", process.group_rank);
  read(in, "world_size", process.world_size);
  read(in, "rank_source", process.rank_source);
  read(in, "launcher", process.launcher);
  read(in, "restart_count", process.restart_count);
  read(in, "stated_attempt", process.stated_attempt);
  read(in, "identity", process.identity);
  for (const json& item : json_fields::array_at(in, "gpus")) {
    from_json(item, process.gpus.emplace_back());
  }
  read(in, "container", process.container);
  read(in, "pod", process.pod);
  read(in, "user", process.user);
  read(in, "command", process.command);
  read(in, "not_captured", process.not_captured);
}

void to_json(json& out, const StreamAttributes& attributes) {
  out = json::object();
  out["version"] = attributes.version;
  out["from"] = attributes.from;
  out["job"] = attributes.job;
  out["process"] = attributes.process;
  if (!attributes.run_of.empty()) out["run_of"] = attributes.run_of;
  put(out, "attempt", attributes.attempt);
  put(out, "rank", attributes.rank);
  put(out, "local_rank", attributes.local_rank);
  out["rank_source"] = attributes.rank_source;
  out["host"] = attributes.host;
  out["name"] = attributes.name;
  out["aliases"] = attributes.aliases;
  out["paths"] = attributes.paths;
  if (!attributes.labels.empty()) out["labels"] = attributes.labels;
}

void from_json(const json& in, StreamAttributes& attributes) {
  attributes = StreamAttributes{};
  for (const char* key : {"version", "from", "job"}) json_fields::require(in, key);
  read(in, "version", attributes.version);
  read(in, "from", attributes.from);
  read(in, "job", attributes.job);
  read(in, "process", attributes.process);
  read(in, "run_of", attributes.run_of);
  read(in, "attempt", attributes.attempt);
  read(in, "rank", attributes.rank);
  read(in, "local_rank", attributes.local_rank);
  read(in, "rank_source", attributes.rank_source);
  read(in, "host", attributes.host);
  read(in, "name", attributes.name);
  read(in, "aliases", attributes.aliases);
  read(in, "paths", attributes.paths);
  read(in, "labels", attributes.labels);
}

void to_json(json& out, const Gap& gap) {
  out = json{{"from", gap.from}, {"reason", gap.reason}, {"at", gap.at}};
  put(out, "to", gap.to);
}

void from_json(const json& in, Gap& gap) {
  gap = Gap{};
  for (const char* key : {"from", "reason"}) json_fields::require(in, key);
  read(in, "from", gap.from);
  read(in, "to", gap.to);
  read(in, "reason", gap.reason);
  read(in, "at", gap.at);
}

void to_json(json& out, const StoredGeneration& generation) {
  const auto pairs = [](const std::vector<Range>& ranges) {
    json list = json::array();
    for (const Range& range : ranges) list.push_back(json::array({range.first, range.end}));
    return list;
  };
  out = json::object();
  out["generation"] = generation.generation;
  out["head"] = to_hex(generation.head);
  out["ranges"] = pairs(generation.ranges);
  out["tail_crc"] = generation.tail_crc;
  out["closed"] = generation.closed;
  out["last_version"] = generation.last_version;
  if (!generation.lost.empty()) out["lost"] = pairs(generation.lost);
}

void from_json(const json& in, StoredGeneration& generation) {
  generation = StoredGeneration{};
  json_fields::require(in, "generation");
  read(in, "generation", generation.generation);
  json_fields::read_hex(in, "head", generation.head);
  const auto read_ranges = [&in](const char* key, std::vector<Range>& ranges) {
    for (const json& pair : json_fields::array_at(in, key)) {
      if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() ||
          !pair[1].is_number_unsigned()) {
        json_fields::refuse(pair, std::string(key) + ": expected [first, end]");
      }
      ranges.push_back({pair[0].get<std::uint64_t>(), pair[1].get<std::uint64_t>()});
    }
  };
  read_ranges("ranges", generation.ranges);
  read_ranges("lost", generation.lost);
  read(in, "tail_crc", generation.tail_crc);
  read(in, "closed", generation.closed);
  read(in, "last_version", generation.last_version);
}

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

Result<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return Error(ErrorCode::invalid, "hex has an even number of digits");
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return Error(ErrorCode::invalid, "not a hexadecimal digit");
    out.push_back(static_cast<char>(high << 4 | low));
  }
  return out;
}

}  // namespace logarithm
