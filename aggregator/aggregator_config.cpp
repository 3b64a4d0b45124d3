#include "aggregator/aggregator_config.h"

#include <filesystem>
#include <map>

#include "common/config/units.h"
#include "common/config/yaml_node.h"
#include "common/net/listen_address.h"

namespace logarithm::aggregator {

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
  config.origins.read(file, document.lines());
  problems.insert(problems.end(), document.problems().begin(), document.problems().end());
  return {};
}

config::Problems validate(const AggregatorConfig& config) {
  config::Problems out;
  const auto note = [&](const std::string& key, std::string what) {
    out.push_back(config.origins.problem(key, std::move(what)));
  };
  const auto listen = net::parse_listen(config.listen);
  if (!listen.ok()) {
    note("listen", listen.error().message());
  } else if (!listen->loopback && config.tokens.empty()) {
    note("listen", config.listen +
                       " can be reached from other hosts, and no tokens are configured; configure "
                       "tokens, or listen on 127.0.0.1");
  }
  if (config.data_dir.empty()) note("data_dir", "must not be empty");
  const std::filesystem::path place = std::filesystem::path(config.ready_file).parent_path();
  std::error_code unknown;
  if (!place.empty() && !std::filesystem::is_directory(place, unknown)) {
    note("ready_file", "there is no directory " + place.string() +
                           ": create it, or name a file in one that there is");
  }
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < config.tokens.size(); ++i) {
    const auto [first, fresh] = seen.emplace(config.tokens[i].token, i);
    if (fresh) continue;
    note("tokens[" + std::to_string(i) + "].token",
         "is that of tokens[" + std::to_string(first->second) + "], too: each needs its own");
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
