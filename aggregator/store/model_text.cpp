#include "aggregator/store/model_text.h"

#include <nlohmann/json.hpp>

#include "common/model/model_json.h"

namespace logarithm::aggregator {
namespace {

// Names come from other machines and need not be UTF-8; a byte that is none becomes U+FFFD.
template <typename T>
std::string dump(const T& value) {
  const nlohmann::json json = value;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <typename T>
Result<T> parse(std::string_view text, std::string_view what) {
  try {
    return nlohmann::json::parse(text).get<T>();
  } catch (const nlohmann::json::exception& problem) {
    return Error(ErrorCode::corrupt, std::string(what) + ": " + problem.what());
  }
}

}  // namespace

std::string to_text(const ProcessInfo& process) { return dump(process); }
std::string to_text(const StreamAttributes& attributes) { return dump(attributes); }
Result<ProcessInfo> parse_process(std::string_view text) {
  return parse<ProcessInfo>(text, "process");
}
Result<StreamAttributes> parse_attributes(std::string_view text) {
  return parse<StreamAttributes>(text, "stream attributes");
}

}  // namespace logarithm::aggregator
