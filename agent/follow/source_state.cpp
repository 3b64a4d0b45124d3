#include "agent/follow/source_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace logarithm::agent {
namespace {

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

// Paths are bytes; a name that is no UTF-8 must not make the checkpoint unwritable.
std::string json_string(std::string_view text) {
  if (is_plain(text)) return '"' + std::string(text) + '"';
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <typename Items, typename Text>
std::string json_list(const Items& items, const Text& text_of) {
  std::string out;
  for (const auto& item : items) out.append(out.empty() ? "[" : ",").append(text_of(item));
  return out + ']';
}

}  // namespace

// Written by hand: it goes into each checkpoint, and a tree costs ten times as much.

std::string to_json_text(const SourceState& state) {
  std::string out = "{\"path\":" + json_string(state.path);
  const auto number = [&out](std::string_view key, auto value) {
    out.append(",\"").append(key).append("\":").append(std::to_string(value));
  };
  const auto text = [&out](std::string_view key, std::string_view value) {
    out.append(",\"").append(key).append("\":").append(value);
  };
  number("inode", state.inode);
  number("birth", state.birth);
  number("size", state.size);
  number("seen", state.seen);
  number("grown", state.grown);
  number("rate", state.rate);
  text("digest", json_string(state.digest));
  if (state.imported) text("imported", "true");
  if (state.closed_at != 0) number("closed_at", state.closed_at);
  if (!state.kernel.empty()) text("kernel", json_string(state.kernel));
  if (!state.rungs.empty())
    text("rungs", json_list(state.rungs, [](const auto& rung) {
           return "[" + std::to_string(rung.first) + "," + std::to_string(rung.second) + "]";
         }));
  if (!state.copies.empty())
    text("copies", json_list(state.copies,
                             [](const StreamBase& copy) { return json_string(to_text(copy)); }));
  out += '}';
  return out;
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
