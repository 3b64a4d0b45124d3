#include "agent/follow/source_state.h"

#include <nlohmann/json.hpp>

namespace logarithm::agent {

std::string to_json_text(const SourceState& state) {
  nlohmann::json out = {{"path", state.path}, {"inode", state.inode},  {"birth", state.birth},
                        {"size", state.size}, {"seen", state.seen},    {"grown", state.grown},
                        {"rate", state.rate}, {"digest", state.digest}};
  if (state.imported) out["imported"] = true;
  if (state.closed_at != 0) out["closed_at"] = state.closed_at;
  if (!state.kernel.empty()) out["kernel"] = state.kernel;
  if (!state.rungs.empty()) out["rungs"] = state.rungs;
  for (const StreamBase& copy : state.copies) out["copies"].push_back(to_text(copy));
  // Paths are bytes; a name that is no UTF-8 must not make the checkpoint unwritable.
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

SourceState parse_source_state(std::string_view text) {
  SourceState state;
  const nlohmann::json in = nlohmann::json::parse(text, nullptr, false);
  if (!in.is_object()) return state;
  try {
    state.path = in.value("path", std::string());
    state.imported = in.value("imported", false);
    state.inode = in.value("inode", std::uint64_t{0});
    state.birth = in.value("birth", UnixNanos{0});
    state.size = in.value("size", std::uint64_t{0});
    state.seen = in.value("seen", UnixNanos{0});
    state.grown = in.value("grown", UnixNanos{0});
    state.rate = in.value("rate", std::uint64_t{0});
    state.digest = in.value("digest", std::string());
    state.closed_at = in.value("closed_at", UnixNanos{0});
    state.kernel = in.value("kernel", std::string());
    state.rungs = in.value("rungs", decltype(state.rungs)());
    for (const std::string& copy : in.value("copies", std::vector<std::string>())) {
      Result<StreamBase> base = parse_stream_base(copy);
      if (base.ok()) state.copies.push_back(*base);
    }
  } catch (const nlohmann::json::exception&) {
    return SourceState{};
  }
  return state;
}

}  // namespace logarithm::agent
