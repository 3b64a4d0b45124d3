#include "aggregator/http/request_params.h"

#include <algorithm>
#include <charconv>

#include "aggregator/http/problem.h"
#include "aggregator/query/filters.h"
#include "common/config/nearest.h"

namespace logarithm::aggregator {

std::optional<net::Response> refuse_unknown(const net::Request& request,
                                            const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : request.query) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    std::string detail = "unknown parameter \"" + name.substr(0, 64) + "\"";
    if (auto meant = config::nearest_name(name, names)) {
      detail += "; did you mean \"" + *meant + "\"?";
    }
    return problem(400, detail, std::nullopt, name.substr(0, 64));
  }
  return std::nullopt;
}

std::optional<net::Response> read_filters(const net::Request& request, UnixNanos now,
                                          ScanPlan& plan) {
  ParamProblem trouble;
  auto spec = parse_filters(request.query, now, trouble);
  if (!spec.ok()) {
    std::string detail = trouble.parameter + ": " + spec.error().message();
    if (trouble.position) detail += " at position " + std::to_string(*trouble.position);
    return problem(400, detail, trouble.position, trouble.parameter);
  }
  plan.predicate = std::move(spec->predicate);
  plan.start = spec->start;
  plan.end = spec->end;
  return std::nullopt;
}

Result<std::uint64_t> number_param(const net::Request& request, std::string_view name,
                                   std::uint64_t fallback, std::uint64_t min, std::uint64_t max) {
  const auto text = request.param(name);
  if (!text) return fallback;
  std::uint64_t value = 0;
  const char* end = text->data() + text->size();
  auto [stop, trouble] = std::from_chars(text->data(), end, value);
  if (trouble != std::errc{} || stop != end || value < min || value > max) {
    return Error(ErrorCode::invalid, std::string(name) + " is a whole number from " +
                                         std::to_string(min) + " to " + std::to_string(max));
  }
  return value;
}

Result<bool> bool_param(const net::Request& request, std::string_view name, bool fallback) {
  const auto text = request.param(name);
  if (!text) return fallback;
  if (*text == "true" || *text == "1") return true;
  if (*text == "false" || *text == "0") return false;
  return Error(ErrorCode::invalid, std::string(name) + " is true or false");
}

}  // namespace logarithm::aggregator
