#include "agent/test_rules.h"

#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "agent/app.h"
#include "common/line/stream_parser.h"

namespace logarithm::agent {
namespace {

nlohmann::json to_json(const MetaValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const double real = std::get<double>(value);
  if (std::isnan(real)) return "NaN";
  if (std::isinf(real)) return real > 0 ? "Infinity" : "-Infinity";
  return real;
}

nlohmann::json describe(const Line& line) {
  nlohmann::json out;
  out["text"] = text_of(line);
  if (line.severity != Severity::unset) out["severity"] = std::string(to_string(line.severity));
  if (!line.callsite.empty()) out["callsite"] = line.callsite;
  if (line.wrapper_rank) out["rank"] = *line.wrapper_rank;
  if (line.iteration) out["iteration"] = *line.iteration;
  for (const MetaPair& pair : line.meta) out["meta"][pair.key] = to_json(pair.value);
  for (const EventMark& event : line.events) {
    nlohmann::json mark;
    mark["rule"] = event.rule;
    mark["kind"] = event.kind;
    mark["class"] = event.klass;
    out["events"].push_back(std::move(mark));
  }
  return out;
}

}  // namespace

int test_rules(const std::vector<std::string>& files, std::istream& in, std::ostream& out,
               std::ostream& errors) {
  AgentConfig config;
  config.rules = files;
  config::Problems problems;
  const auto rules = load_rules(config, problems);
  errors << config::to_string(problems);
  LongLinePool pool;
  auto parser = StreamParser::make({}, *rules, pool, 0, "");
  if (!parser.ok()) {
    errors << parser.error().message() << "\n";
    return 1;
  }
  const UnixNanos now = SystemClock().wall_now();
  ParsedLines parsed;
  const auto print = [&] {
    for (const Line& line : parsed.lines) {
      out << describe(line).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    }
    parsed = {};
  };
  char buffer[1 << 16];
  while (in.read(buffer, sizeof buffer) || in.gcount() > 0) {
    (*parser)->feed(std::string_view(buffer, static_cast<std::size_t>(in.gcount())), now, parsed);
    print();
  }
  (*parser)->flush(StreamParser::Flush::closed, now, parsed);
  print();
  return problems.empty() ? 0 : 78;
}

}  // namespace logarithm::agent
