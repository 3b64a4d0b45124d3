#include "aggregator/query/filters.h"

#include <algorithm>
#include <charconv>

#include "aggregator/query/logql_parser.h"
#include "aggregator/query/time_text.h"

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kMaxIntervals = 10'000;

bool read_integer(std::string_view text, std::int64_t& value) {
  const char* end = text.data() + text.size();
  auto [stop, problem] = std::from_chars(text.data(), end, value);
  return !text.empty() && problem == std::errc{} && stop == end;
}

bool read_interval(std::string_view part, Interval& out) {
  if (const auto dots = part.find(".."); dots != std::string_view::npos) {
    const std::string_view low = part.substr(0, dots), high = part.substr(dots + 2);
    if (low.empty() && high.empty()) return false;
    return (low.empty() || read_integer(low, out.min)) &&
           (high.empty() || read_integer(high, out.max)) && out.min <= out.max;
  }
  // A leading '-' is a sign.
  if (const auto dash = part.find('-', 1); dash != std::string_view::npos) {
    return read_integer(part.substr(0, dash), out.min) &&
           read_integer(part.substr(dash + 1), out.max) && out.min <= out.max;
  }
  if (!read_integer(part, out.min)) return false;
  out.max = out.min;
  return true;
}

// Collects the predicates of all parameters.
class Filters {
 public:
  Filters(UnixNanos now, ParamProblem& problem) : now_(now), problem_(problem) {}

  Status add(const std::string& name, const std::string& value) {
    problem_.parameter = name;
    problem_.position.reset();
    if (name == "query") return add_query(value);
    if (name == "start") return add_time(value, spec_.start);
    if (name == "end") return add_time(value, spec_.end);
    if (name == "attempt" || name == "rank" || name == "iteration") return add_range(name, value);
    if (name == "severity") return add_severity(value);
    if (name == "grep" || name == "not_grep") return add_grep(name, value);
    if (name == "callsite" || name == "stream" || name == "host") {
      group(name).push_back(predicate::string_equal(field_named(name), value));
    } else if (name == "not_callsite") {
      all_.push_back(predicate::negation(predicate::string_equal(field_named("callsite"), value)));
    }
    return {};
  }

  QuerySpec finish() {
    for (auto& [name, choices] : groups_) {
      all_.push_back(predicate::any_of(std::move(choices)));
    }
    spec_.predicate = predicate::all_of(std::move(all_));
    return std::move(spec_);
  }

 private:
  std::vector<Predicate>& group(const std::string& name) {
    for (auto& [known, choices] : groups_) {
      if (known == name) return choices;
    }
    return groups_.emplace_back(name, std::vector<Predicate>{}).second;
  }

  Status add_query(const std::string& value) {
    std::size_t position = 0;
    auto parsed = parse_logql(value, position);
    if (!parsed.ok()) {
      problem_.position = position;
      return parsed.error();
    }
    all_.push_back(std::move(parsed).value());
    return {};
  }

  Status add_time(const std::string& value, std::optional<UnixNanos>& out) {
    LGR_TRY(UnixNanos time, parse_time(value, now_));
    out = time;
    return {};
  }

  Status add_range(const std::string& name, const std::string& value) {
    std::size_t position = 0;
    auto parsed = parse_intervals(value, position);
    if (!parsed.ok()) {
      problem_.position = position;
      return parsed.error();
    }
    group(name).push_back(predicate::intervals(field_named(name), std::move(parsed).value()));
    return {};
  }

  Status add_severity(const std::string& value) {
    auto severity = parse_severity(value);
    if (!severity) {
      return Error(
          ErrorCode::invalid,
          "not a severity (trace, debug, info, warning, error, fatal): " + value.substr(0, 64));
    }
    group("severity").push_back(predicate::at_least(*severity));
    return {};
  }

  Status add_grep(const std::string& name, const std::string& value) {
    LGR_TRY(Regex regex, Regex::compile(value, RegexMode::utf8, false, &problem_.position));
    Predicate search = predicate::regex_search(FieldRef{Field::text, "text"}, std::move(regex));
    if (name == "grep") {
      group(name).push_back(std::move(search));
    } else {
      all_.push_back(predicate::negation(std::move(search)));
    }
    return {};
  }

  UnixNanos now_;
  ParamProblem& problem_;
  QuerySpec spec_;
  std::vector<Predicate> all_;
  std::vector<std::pair<std::string, std::vector<Predicate>>> groups_;
};

}  // namespace

const std::vector<std::string_view>& filter_parameters() {
  static const std::vector<std::string_view> kNames = {
      "query", "start",    "end",      "attempt",      "rank",   "iteration", "severity",
      "grep",  "not_grep", "callsite", "not_callsite", "stream", "host"};
  return kNames;
}

bool is_filter_parameter(std::string_view name) {
  const auto& names = filter_parameters();
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<std::vector<Interval>> parse_intervals(std::string_view text, std::size_t& position) {
  std::vector<Interval> out;
  std::size_t at = 0;
  while (true) {
    std::size_t comma = std::min(text.find(',', at), text.size());
    std::string_view part = text.substr(at, comma - at);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    Interval interval;
    if (part.empty() || out.size() >= kMaxIntervals || !read_interval(part, interval)) {
      position = at;
      return Error(ErrorCode::invalid, "not a number or range (like 0-7,16 or 1200..1300): " +
                                           std::string(part.substr(0, 64)));
    }
    out.push_back(interval);
    if (comma == text.size()) return out;
    at = comma + 1;
  }
}

Result<QuerySpec> parse_filters(const Params& params, UnixNanos now, ParamProblem& problem) {
  Filters filters(now, problem);
  for (const auto& [name, value] : params) {
    if (is_filter_parameter(name)) LGR_CHECK(filters.add(name, value));
  }
  problem = {};
  return filters.finish();
}

}  // namespace logarithm::aggregator
