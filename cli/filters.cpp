#include "cli/filters.h"

#include <CLI/App.hpp>
#include <charconv>
#include <string_view>

#include "common/config/units.h"
#include "common/net/http.h"

namespace logarithm::cli {
namespace {

void add_all(Params& out, const char* name, const std::vector<std::string>& values) {
  for (const std::string& value : values) out.emplace_back(name, value);
}

void add_one(Params& out, const char* name, const std::string& value) {
  if (!value.empty()) out.emplace_back(name, value);
}

bool parse_number(std::string_view text, std::int64_t& number) {
  const char* end = text.data() + text.size();
  auto [stop, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc{} && stop == end && !text.empty();
}

// An option that may be repeated, with one value each time.
void add_repeated(CLI::App& app, const char* name, std::vector<std::string>& values,
                  const char* help) {
  app.add_option(name, values, help)->allow_extra_args(false);
}

// Numbers and ranges, which may be said at once or one after another.
void add_joined(CLI::App& app, const char* name, std::string& values, const char* help) {
  app.add_option(name, values, help)->join(',');
}

}  // namespace

std::string query_text(const Params& params) {
  std::string out;
  for (const auto& [name, value] : params) {
    out += out.empty() ? '?' : '&';
    out += net::percent_encode(name) + "=" + net::percent_encode(value);
  }
  return out;
}

void Filters::add_to(CLI::App& app) {
  add_joined(app, "--attempt", attempt, "Attempts: 1, 0-2");
  add_joined(app, "--rank", rank, "Ranks: 0-7,16");
  add_joined(app, "--iteration", iteration, "Iterations: 1200..1300");
  app.add_option("--severity", severity, "At least: debug, info, warning, error, fatal");
  add_repeated(app, "--grep", grep, "Regular expression (RE2) that the text must match");
  add_repeated(app, "--not-grep", not_grep, "Regular expression that the text must not match");
  add_repeated(app, "--callsite", callsite, "Printed at FILE:LINE");
  add_repeated(app, "--not-callsite", not_callsite, "Not printed at FILE:LINE");
  add_repeated(app, "--host", host, "Host");
  add_repeated(app, "--stream", stream, "Stream: stdout, stderr, kernel or a path");
  add_repeated(app, "--hide", hide, "Leave out what the saved list NAME hides (see `hide`)");
  app.add_option("--since", since, "This long ago until now: 15m, 2h");
  app.add_option("--start", start, "From this time on (RFC 3339, or ns since 1970)");
  app.add_option("--end", end, "Before this time");
}

Result<Params> Filters::params() const {
  Params out;
  add_one(out, "query", logql);
  add_one(out, "attempt", attempt);
  add_one(out, "rank", rank);
  add_one(out, "iteration", iteration);
  add_one(out, "severity", severity);
  add_all(out, "grep", grep);
  add_all(out, "not_grep", not_grep);
  add_all(out, "callsite", callsite);
  add_all(out, "not_callsite", not_callsite);
  add_all(out, "suppress", hide);
  add_all(out, "host", host);
  add_all(out, "stream", stream);
  if (!since.empty()) {
    if (!start.empty()) return Error(ErrorCode::invalid, "--since and --start exclude each other");
    LGR_TRY(auto ago, config::parse_duration(since));
    out.emplace_back("start", "-" + config::format_duration(ago) + (ago.count() == 0 ? "s" : ""));
  }
  add_one(out, "start", start);
  add_one(out, "end", end);
  return out;
}

Result<Params> Filters::stream_params() const {
  const auto refuse = [](const char* name) {
    return Error(ErrorCode::invalid, std::string(name) +
                                         " picks lines; exact bytes are of whole streams: use " +
                                         "--attempt, --rank, --host, --stream");
  };
  if (!logql.empty()) return refuse("LOGQL");
  if (!iteration.empty()) return refuse("--iteration");
  if (!severity.empty()) return refuse("--severity");
  if (!grep.empty()) return refuse("--grep");
  if (!not_grep.empty()) return refuse("--not-grep");
  if (!callsite.empty()) return refuse("--callsite");
  if (!not_callsite.empty()) return refuse("--not-callsite");
  if (!hide.empty()) return refuse("--hide");
  if (!since.empty()) return refuse("--since");
  if (!start.empty()) return refuse("--start");
  if (!end.empty()) return refuse("--end");
  return params();
}

Result<NumberSet> NumberSet::parse(const std::string& text) {
  NumberSet out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    std::size_t split = part.find("..");
    std::size_t width = 2;
    if (split == std::string_view::npos) {
      split = part.find('-', 1);
      width = 1;
    }
    std::int64_t first = 0, last = 0;
    bool good = parse_number(part.substr(0, split), first);
    last = first;
    if (split != std::string_view::npos)
      good = good && parse_number(part.substr(split + width), last);
    if (!good || last < first) {
      return Error(ErrorCode::invalid, "'" + text + "' is not numbers and ranges like 0-7,16");
    }
    out.ranges_.emplace_back(first, last);
  }
  return out;
}

bool NumberSet::contains(std::int64_t number) const {
  for (const auto& [first, last] : ranges_) {
    if (number >= first && number <= last) return true;
  }
  return false;
}

}  // namespace logarithm::cli
