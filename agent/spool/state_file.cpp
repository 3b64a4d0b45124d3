#include "agent/spool/state_file.h"

#include <nlohmann/json.hpp>

#include "agent/spool/recovery.h"

namespace logarithm::agent {
namespace {

constexpr const char* kName = "state.json";
constexpr std::uint64_t kMaxBytes = 64u << 10;

Result<StateFile> parse(const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (json.at("version").get<int>() != 1) return Error(ErrorCode::corrupt, "version");
    StateFile state;
    state.created_at = json.at("created_at").get<UnixNanos>();
    return state;
  } catch (const nlohmann::json::exception& thrown) {
    return Error(ErrorCode::corrupt, thrown.what());
  }
}

}  // namespace

Status save_state(BlockingToken& token, FileSystem& files, const std::string& directory,
                  const StateFile& state) {
  nlohmann::json json;
  json["version"] = 1;
  json["created_at"] = state.created_at;
  return replace_file(token, files, directory + "/" + kName, json.dump() + "\n");
}

Result<LoadedState> load_state(BlockingToken& token, FileSystem& files,
                               const std::string& directory, const Clock& clock) {
  LoadedState loaded;
  auto text = read_file(token, files, directory + "/" + kName, kMaxBytes);
  if (text.ok()) {
    auto parsed = parse(*text);
    if (parsed.ok()) {
      loaded.state = *parsed;
      return loaded;
    }
  }
  if (!text.ok() && text.error().code() != ErrorCode::not_found &&
      text.error().code() != ErrorCode::too_large) {
    return text.error();
  }
  const bool existed = text.ok() || text.error().code() == ErrorCode::too_large;
  if (existed) LGR_CHECK(quarantine(token, files, directory, kName));
  loaded.made_now = true;
  loaded.state.created_at = clock.wall_now();
  return loaded;
}

}  // namespace logarithm::agent
