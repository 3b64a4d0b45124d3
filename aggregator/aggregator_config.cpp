#include "aggregator/aggregator_config.h"

#include <charconv>
#include <set>

#include "common/config/units.h"
#include "common/config/yaml_node.h"

namespace logarithm::aggregator {

Result<ListenAddress> parse_listen(const std::string& text) {
  const Error bad(ErrorCode::invalid, "not host:port: " + text);
  ListenAddress out;
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return bad;
  out.host = text.substr(0, colon);
  if (out.host.front() == '[' && out.host.back() == ']') {
    out.host = out.host.substr(1, out.host.size() - 2);
  } else if (out.host.find(':') != std::string::npos) {
    return Error(ErrorCode::invalid, "an IPv6 address needs brackets: " + text);
  }
  if (out.host == "localhost") out.host = "127.0.0.1";
  const std::string port = text.substr(colon + 1);
  const char* end = port.data() + port.size();
  auto [stop, problem] = std::from_chars(port.data(), end, out.port);
  if (port.empty() || problem != std::errc{} || stop != end || out.host.empty()) return bad;
  out.loopback = out.host.starts_with("127.") || out.host == "::1";
  return out;
}

Status load_config(const std::string& file, AggregatorConfig& config, config::Problems& problems) {
  LGR_TRY(config::YamlDocument document, config::YamlDocument::load_file(file));
  const config::YamlNode root = document.root();
  config.listen = root.string("listen", config.listen);
  config.data_dir = root.string("data_dir", config.data_dir);
  config.ready_file = root.string("ready_file", config.ready_file);
  for (const config::YamlNode& node : root.list("tokens")) {
    TokenGrant grant;
    grant.token = node.required("token");
    grant.tenant = node.string("tenant", grant.tenant);
    if (grant.tenant.empty()) node.problem_at("tenant", "must not be empty");
    config.tokens.push_back(std::move(grant));
  }
  const config::YamlNode query = root.child("query");
  config.query.deadline =
      query.duration("deadline", config.query.deadline, std::chrono::milliseconds(1));
  config.query.max_concurrent = static_cast<std::uint64_t>(query.integer(
      "max_concurrent", static_cast<std::int64_t>(config.query.max_concurrent), 1, 10'000));
  config.query.memory = query.size("memory", config.query.memory, 1u << 20);
  const config::YamlNode store = root.child("store");
  config.store.min_free = store.size("min_free", config.store.min_free);
  config.store.part_bytes = store.size("part_bytes", config.store.part_bytes, 1u << 20);
  config.store.part_age =
      store.duration("part_age", config.store.part_age, std::chrono::minutes(1));
  const config::YamlNode retention = root.child("retention");
  config.retention.max_age = retention.duration("max_age", config.retention.max_age);
  config.retention.max_bytes = retention.size("max_bytes", config.retention.max_bytes);
  config.retention.min_free = retention.size("min_free", config.retention.min_free);
  const std::string level = root.choice("log_level", std::string(to_string(config.log_level)),
                                        {"debug", "info", "warning", "error"});
  config.log_level = parse_log_threshold(level).value_or(config.log_level);
  root.finish();
  problems.insert(problems.end(), document.problems().begin(), document.problems().end());
  return {};
}

config::Problems validate(const AggregatorConfig& config, const std::string& file) {
  config::Problems out;
  const auto note = [&](std::string path, std::string what) {
    out.push_back(config::Problem{file, 0, std::move(path), std::move(what)});
  };
  auto listen = parse_listen(config.listen);
  if (!listen.ok()) {
    note("listen", listen.error().message());
  } else if (!listen->loopback && config.tokens.empty()) {
    note("listen", config.listen +
                       " can be reached from other hosts, and no tokens are configured; configure "
                       "tokens, or listen on 127.0.0.1");
  }
  if (config.data_dir.empty()) note("data_dir", "must not be empty");
  std::set<std::string> seen;
  for (const TokenGrant& grant : config.tokens) {
    if (!seen.insert(grant.token).second) note("tokens", "a token appears twice");
  }
  return out;
}

std::string print_config(const AggregatorConfig& config) {
  std::string out;
  out += "listen: " + config::yaml_quote(config.listen) + "\n";
  out += "data_dir: " + config::yaml_quote(config.data_dir) + "\n";
  out += "ready_file: " + config::yaml_quote(config.ready_file) + "\n";
  out += config.tokens.empty() ? "tokens: []\n" : "tokens:\n";
  for (const TokenGrant& grant : config.tokens) {
    out += "  - {token: \"***\", tenant: " + config::yaml_quote(grant.tenant) + "}\n";
  }
  out += "query:\n";
  out += "  deadline: " + config::format_duration(config.query.deadline) + "\n";
  out += "  max_concurrent: " + std::to_string(config.query.max_concurrent) + "\n";
  out += "  memory: " + config::format_size(config.query.memory) + "\n";
  out += "store:\n";
  out += "  min_free: " + config::format_size(config.store.min_free) + "\n";
  out += "  part_bytes: " + config::format_size(config.store.part_bytes) + "\n";
  out += "  part_age: " + config::format_duration(config.store.part_age) + "\n";
  out += "retention:\n";
  out += "  max_age: " + config::format_duration(config.retention.max_age) + "\n";
  out += "  max_bytes: " + config::format_size(config.retention.max_bytes) + "\n";
  out += "  min_free: " + config::format_size(config.retention.min_free) + "\n";
  out += "log_level: " + std::string(to_string(config.log_level)) + "\n";
  return out;
}

}  // namespace logarithm::aggregator
