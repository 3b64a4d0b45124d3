#include "agent/test_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "agent/settings.h"
#include "common/base/clock.h"
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

// What each rule that was tried cost, the dearest first.
void print_costs(std::ostream& out, std::vector<RuleCost> costs, std::uint64_t lines,
                 double seconds) {
  std::erase_if(costs, [](const RuleCost& cost) { return cost.runs == 0; });
  std::sort(costs.begin(), costs.end(),
            [](const RuleCost& a, const RuleCost& b) { return a.seconds > b.seconds; });
  const double count = static_cast<double>(std::max<std::uint64_t>(lines, 1));
  char text[160];
  std::snprintf(text, sizeof text, "%-32s %12s %12s %12s\n", "rule", "ns per line", "tried",
                "hits");
  out << text;
  double sum = 0;
  for (const RuleCost& cost : costs) {
    sum += cost.seconds;
    std::snprintf(text, sizeof text, "%-32.32s %12.1f %12llu %12llu\n", cost.name.c_str(),
                  cost.seconds * 1e9 / count, static_cast<unsigned long long>(cost.runs),
                  static_cast<unsigned long long>(cost.hits));
    out << text;
  }
  std::snprintf(text, sizeof text,
                "%llu lines, %.1f ns a line in rules (timers included), %.1f in all\n",
                static_cast<unsigned long long>(lines), sum * 1e9 / count, seconds * 1e9 / count);
  out << text;
}

}  // namespace

int test_rules(const std::vector<std::string>& files, const std::string& stream, std::istream& in,
               std::ostream& out, std::ostream& errors) {
  AgentConfig config;
  config.rules = files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    config.origins.state("rules[" + std::to_string(i) + "]", "RULES");
  }
  config::Problems problems;
  RuleSet::Options options;
  options.sample_every = 1;
  options.any_stream = stream.empty();
  const auto rules = load_rules(config, problems, options);
  errors << config::to_string(problems);
  LongLinePool pool;
  StreamContext context;
  context.stream_name = stream;
  auto parser = StreamParser::make(std::move(context), *rules, pool, 0, "");
  if (!parser.ok()) {
    errors << parser.error().message() << "\n";
    return 1;
  }
  const SystemClock clock;
  const UnixNanos now = clock.wall_now();
  ParsedLines parsed;
  std::uint64_t lines = 0;
  std::chrono::nanoseconds spent{0};
  const auto print = [&](MonotonicTime begin) {
    spent += clock.now() - begin;
    lines += parsed.lines.size();
    for (const Line& line : parsed.lines) {
      out << describe(line).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    }
    parsed = {};
  };
  char buffer[1 << 16];
  while (in.read(buffer, sizeof buffer) || in.gcount() > 0) {
    const MonotonicTime begin = clock.now();
    (*parser)->feed(std::string_view(buffer, static_cast<std::size_t>(in.gcount())), now, parsed);
    print(begin);
  }
  const MonotonicTime begin = clock.now();
  (*parser)->flush(StreamParser::Flush::closed, now, parsed);
  print(begin);
  print_costs(errors, rules->costs(), lines, std::chrono::duration<double>(spent).count());
  return problems.empty() ? 0 : 78;
}

}  // namespace logarithm::agent
