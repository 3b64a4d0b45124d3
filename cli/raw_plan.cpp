#include "cli/raw_plan.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace logarithm::cli {
namespace {

using Json = nlohmann::json;

// Offsets are strings in REST.
std::uint64_t offset_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return 0;
  if (found->is_number_unsigned()) return found->get<std::uint64_t>();
  std::uint64_t value = 0;
  if (found->is_string()) {
    const auto& text = found->get_ref<const std::string&>();
    std::from_chars(text.data(), text.data() + text.size(), value);
  }
  return value;
}

std::optional<std::int64_t> number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::string string_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// What --attempt, --rank, --host and --stream say of one version of a stream's attributes.
class Wanted {
 public:
  static Result<Wanted> make(const Filters& filters) {
    Wanted out;
    LGR_TRY(out.attempts_, NumberSet::parse(filters.attempt));
    LGR_TRY(out.ranks_, NumberSet::parse(filters.rank));
    out.hosts_ = filters.host;
    out.streams_ = filters.stream;
    return out;
  }

  bool matches(const Json& version) const {
    return number_matches(attempts_, number_of(version, "attempt")) &&
           number_matches(ranks_, number_of(version, "rank")) &&
           (hosts_.empty() || any_of(hosts_, string_of(version, "host"))) && name_matches(version);
  }

 private:
  static bool number_matches(const NumberSet& set, const std::optional<std::int64_t>& number) {
    return set.empty() || (number && set.contains(*number));
  }
  static bool any_of(const std::vector<std::string>& values, const std::string& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  }
  bool name_matches(const Json& version) const {
    if (streams_.empty() || any_of(streams_, string_of(version, "name"))) return true;
    for (const char* list : {"aliases", "paths"}) {
      const auto found = version.find(list);
      if (found == version.end() || !found->is_array()) continue;
      for (const Json& one : *found) {
        if (one.is_string() && any_of(streams_, one.get<std::string>())) return true;
      }
    }
    return false;
  }

  NumberSet attempts_, ranks_;
  std::vector<std::string> hosts_, streams_;
};

// A name as part of a path: the last component of a path, and nothing that leaves the directory.
std::string safe_name(const std::string& name) {
  std::string out = name.substr(name.find_last_of('/') + 1);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\') c = '_';
  }
  if (out.size() > 100) out = out.substr(out.size() - 100);
  return out.empty() || out == "." || out == ".." ? "stream" : out;
}

std::string file_name(const RawPart& part) {
  std::string out;
  if (part.attempt) out += "attempt-" + std::to_string(*part.attempt) + "/";
  if (part.rank) out += "rank-" + std::to_string(*part.rank) + "/";
  out += safe_name(part.name);
  if (part.name == "stdout" || part.name == "stderr" || part.name == "kernel") out += ".log";
  return out;
}

void name_files(std::vector<RawPart>& parts) {
  std::set<std::string> taken;
  for (RawPart& part : parts) {
    const std::string wanted = file_name(part);
    part.file = wanted;
    for (int number = 2; !taken.insert(part.file).second; ++number) {
      part.file = wanted + "." + std::to_string(number);
    }
  }
}

void add_stream(std::vector<RawPart>& parts, const Json& stream, const Wanted& wanted,
                RawCuts cuts) {
  RawPart part;
  part.stream_id = string_of(stream, "id");
  part.generation = offset_of(stream, "generation");
  const auto gaps = stream.find("gaps");
  part.gapless = gaps == stream.end() || gaps->empty();
  const auto versions = stream.find("versions");
  const Json only = Json::array({stream});
  const Json& list =
      versions != stream.end() && versions->is_array() && !versions->empty() ? *versions : only;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json& version = list[i];
    part.from = i == 0 || list.size() == 1 ? 0 : offset_of(version, "from");
    part.to.reset();
    if (i + 1 < list.size()) part.to = offset_of(list[i + 1], "from");
    if (part.to && *part.to <= part.from) continue;
    if (!wanted.matches(version)) continue;
    part.attempt = number_of(version, "attempt");
    part.rank = number_of(version, "rank");
    part.name = string_of(version, "name");
    const bool follows =
        !parts.empty() && parts.back().stream_id == part.stream_id && parts.back().to == part.from;
    const bool alike = follows && parts.back().attempt == part.attempt &&
                       parts.back().rank == part.rank && parts.back().name == part.name;
    if (alike || (follows && cuts == RawCuts::never)) {
      RawPart& grown = parts.back();
      grown.to = part.to;
      if (grown.attempt != part.attempt) grown.attempt.reset();
      if (grown.rank != part.rank) grown.rank.reset();
    } else {
      parts.push_back(part);
    }
    const std::uint64_t end = offset_of(stream, "end");
    parts.back().end = parts.back().to ? std::min(*parts.back().to, end) : end;
    parts.back().whole = parts.back().from == 0 && !parts.back().to;
  }
}

}  // namespace

Result<std::vector<RawPart>> plan_raw(const Json& answer, const Filters& filters, RawCuts cuts) {
  const auto streams = answer.is_object() ? answer.find("streams") : answer.end();
  if (!answer.is_object() || streams == answer.end() || !streams->is_array()) {
    return Error(ErrorCode::corrupt, "the server's list of streams is not one");
  }
  LGR_TRY(const Wanted wanted, Wanted::make(filters));
  std::vector<RawPart> parts;
  for (const Json& stream : *streams) {
    if (stream.is_object()) add_stream(parts, stream, wanted, cuts);
  }
  const auto order = [](const RawPart& part) {
    return std::make_tuple(part.attempt.value_or(-1), part.rank.value_or(-1), part.name,
                           part.generation, part.stream_id, part.from);
  };
  std::sort(parts.begin(), parts.end(),
            [&](const RawPart& a, const RawPart& b) { return order(a) < order(b); });
  name_files(parts);
  return parts;
}

}  // namespace logarithm::cli
