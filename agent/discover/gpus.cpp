#include "agent/discover/gpus.h"

#include <algorithm>

#include "agent/discover/text.h"

namespace logarithm::agent {
namespace {

constexpr std::string_view kDirectory = "driver/nvidia/gpus";

// The value of "Name: \t value".
std::string_view value_of(std::string_view text, std::string_view name) {
  std::size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + name.size());
  text = text.substr(0, text.find('\n'));
  const std::size_t first = text.find_first_not_of(": \t");
  if (first == std::string_view::npos) return {};
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// "0000:3b:00.0" without the function.
std::string without_function(const std::string& pci) {
  return clean_text(std::string_view(pci).substr(0, pci.rfind('.')));
}

// A UUID may be cut short: "GPU-8a5" is the one that begins so.
bool names(std::string_view entry, const Gpu& gpu) {
  if (const auto index = parse_count(entry)) return gpu.index == *index;
  return entry.size() > 4 && gpu.uuid.starts_with(entry);
}

}  // namespace

std::optional<std::int32_t> nvidia_index(std::string_view link) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  if (!link.starts_with(kPrefix)) return std::nullopt;
  return parse_count(link.substr(kPrefix.size()));
}

std::vector<Gpu> own_gpus(std::vector<Gpu> held, std::string_view visible,
                          std::optional<std::int32_t> local_rank) {
  if (held.size() <= 1 || visible.empty()) return held;
  std::vector<std::string_view> entries;
  for (std::size_t at = 0; at <= visible.size();) {
    const std::size_t end = std::min(visible.find(',', at), visible.size());
    entries.push_back(visible.substr(at, end - at));
    at = end + 1;
  }
  if (entries.size() > 1 && local_rank) {
    const auto index = static_cast<std::size_t>(*local_rank);
    if (index >= entries.size())
      return held;  // the variable is another numbering: nothing is known
    entries = {entries[index]};
  }
  std::vector<Gpu> out;
  for (const std::string_view entry : entries) {
    const auto is_named = [&](const Gpu& gpu) { return names(entry, gpu); };
    const auto gpu = std::find_if(held.begin(), held.end(), is_named);
    if (gpu == held.end()) return held;
    out.push_back(*gpu);
  }
  return out;
}

Gpu GpuTable::describe(BlockingToken& token, const ProcFs& fs, std::int32_t index) {
  if (!known_) {
    known_.emplace();
    for (const std::string& pci : fs.list_root(token, kDirectory)) {
      const auto text =
          fs.read_root(token, std::string(kDirectory) + "/" + pci + "/information", 16u << 10);
      if (!text.ok()) continue;
      const auto minor = parse_count(value_of(*text, "Device Minor"));
      if (!minor) continue;
      (*known_)[*minor] = Gpu{.index = *minor,
                              .uuid = clean_text(value_of(*text, "GPU UUID")),
                              .pci = without_function(pci)};
    }
  }
  const auto at = known_->find(index);
  return at == known_->end() ? Gpu{.index = index, .uuid = {}, .pci = {}} : at->second;
}

}  // namespace logarithm::agent
