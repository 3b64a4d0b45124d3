#include "aggregator/http/views.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "aggregator/query/match.h"

namespace logarithm::aggregator {
namespace {

// `wait_status` as waitpid gives it.
void write_exit(JsonWriter& out, std::int32_t wait_status) {
  if (WIFSIGNALED(wait_status)) {
    out.key("exit_signal").integer(WTERMSIG(wait_status));
  } else {
    out.key("exit_status").integer(WEXITSTATUS(wait_status));
  }
}

void write_value(JsonWriter& out, const MetaValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    out.integer(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    out.real(*real);
  } else {
    out.string(std::get<std::string>(value));
  }
}

// A key that appears more than once (with several types, say) is an array of its values.
void write_meta(JsonWriter& out, const std::vector<MetaPair>& pairs) {
  out.key("meta").begin_object();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::string& key = pairs[i].key;
    const auto same = [&](const MetaPair& pair) { return pair.key == key; };
    const auto here = pairs.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(pairs.begin(), here, same)) continue;
    out.key(key);
    if (std::none_of(here + 1, pairs.end(), same)) {
      write_value(out, pairs[i].value);
      continue;
    }
    out.begin_array();
    for (const MetaPair& pair : pairs) {
      if (pair.key == key) write_value(out, pair.value);
    }
    out.end_array();
  }
  out.end_object();
}

void write_strings(JsonWriter& out, std::string_view name, const std::vector<std::string>& values) {
  out.key(name).begin_array();
  for (const std::string& value : values) out.string(value);
  out.end_array();
}

void write_map(JsonWriter& out, std::string_view name,
               const std::map<std::string, std::string>& values) {
  out.key(name).begin_object();
  for (const auto& [key, value] : values) out.key(key).string(value);
  out.end_object();
}

// The attributes that a stream and each of its versions have in common.
void write_attributes(JsonWriter& out, const StreamJoin& join) {
  const StreamAttributes& attributes = *join.attributes;
  out.optional_integer("attempt", join.attempt);
  out.optional_integer("rank", join.rank);
  out.optional_integer("local_rank", attributes.local_rank);
  out.optional_string("rank_source", attributes.rank_source);
  out.key("name").string(attributes.name);
  out.key("stream").string(attributes.name);  // what lines and filters call it
  write_strings(out, "aliases", attributes.aliases);
  write_strings(out, "paths", attributes.paths);
  if (!attributes.labels.empty()) {
    out.key("labels").begin_object();
    for (const auto& [name, value] : attributes.labels) out.key(name).string(value);
    out.end_object();
  }
  out.optional_string("host", attributes.host);
  out.optional_string("process", attributes.process);
}

}  // namespace

void write_line(JsonWriter& out, const QueryLine& row) { write_line(out, row.line, *row.join); }

void write_line(JsonWriter& out, const Line& line, const StreamJoin& join) {
  Row text(line, join);
  out.begin_object();
  out.key("id").string(join.stream_text + ":" + std::to_string(line.offset));
  out.key("time").time(line.time);
  out.key("observed").time(line.observed);
  out.key("job").string(*join.job);
  out.optional_integer("attempt", join.attempt);
  out.optional_integer("rank", rank_of(line, join));
  out.optional_string("host", join.attributes->host);
  out.optional_string("stream", stream_name(line, join));
  out.optional_string("severity", to_string(line.severity));
  out.optional_string("callsite", line.callsite);
  if (line.template_id != 0) {
    char id[17];
    std::snprintf(id, sizeof id, "%016llx", static_cast<unsigned long long>(line.template_id));
    out.key("template").string(id);
  }
  out.optional_integer("iteration", line.iteration);
  out.key("text").string(text.text());
  out.key("head").string(join.stream_text + ":" + std::to_string(line.head));
  if (!line.meta.empty()) write_meta(out, line.meta);
  out.key("flags").begin_array();
  for (const FlagName& flag : kFlagNames) {
    if (line.has(flag.bit)) out.string(flag.name);
  }
  out.end_array().end_object();
}

std::string compress(const std::set<std::int32_t>& numbers) {
  std::string out;
  for (auto it = numbers.begin(); it != numbers.end();) {
    const std::int32_t first = *it;
    std::int32_t last = first;
    for (++it; it != numbers.end() && *it == last + 1; ++it) last = *it;
    if (!out.empty()) out.push_back(',');
    out += std::to_string(first);
    if (last != first) out += "-" + std::to_string(last);
  }
  return out;
}

void write_job(JsonWriter& out, const JobSummary& job, const Freshness& freshness, UnixNanos now) {
  out.begin_object();
  out.key("job").string(job.job);
  out.key("state").string(job.running ? "running" : "ended");
  out.key("attempts").begin_array();
  for (std::int32_t attempt : job.attempts) out.integer(attempt);
  out.end_array();
  out.nullable_integer("world_size", job.world_size);
  out.key("ranks").string(compress(job.ranks));
  out.key("hosts").begin_array();
  for (const std::string& host : job.hosts) out.string(host);
  out.end_array();
  out.key("lines").count(job.lines);
  out.key("bytes").big(job.bytes);
  out.nullable_time("first_time", job.first_time);
  out.nullable_time("last_time", job.last_time);
  out.nullable_integer("last_iteration", job.last_iteration);
  out.key("errors").count(job.errors);
  out.key("freshness").begin_object();
  // Whole milliseconds: more would promise what clocks of two hosts do not hold.
  if (job.last_time) {
    out.key("age_seconds").real(static_cast<double>((now - *job.last_time) / 1'000'000) / 1e3);
  }
  out.key("streams").count(freshness.streams).key("lagging").count(freshness.lagging);
  out.key("pending").big(freshness.pending);
  out.optional_string("why", freshness.why);
  out.end_object().end_object();
}

void write_stream(JsonWriter& out, const JobView& view, std::size_t stream,
                  const std::optional<StreamProgress>& progress) {
  const StreamFacts& facts = view.snapshot().streams()[stream];
  const StreamState state = state_of(facts, progress);
  out.begin_object();
  out.key("id").string(to_text(facts.id));
  out.key("generation").count(facts.id.generation);
  out.key("job").string(view.job());
  write_attributes(out, view.joins(stream).back());
  out.key("lines").count(facts.lines);
  out.key("bytes").big(facts.raw_bytes);
  out.key("first").big(state.first);
  out.key("end").big(state.end);
  out.key("size").big(state.size);
  out.key("pending").big(state.pending);
  out.key("complete").boolean(!state.lagging && !state.has_loss);
  out.optional_string("why", state.why);
  out.key("gaps").begin_array();
  for (const Gap& gap : facts.gaps) {
    out.begin_object().key("from").big(gap.from).key("to");
    gap.to ? out.big(*gap.to) : out.null();
    out.key("reason").string(gap.reason).key("time").time(gap.at).end_object();
  }
  out.end_array().key("closed");
  if (facts.closed) {
    out.begin_object().key("reason").string(facts.closed->reason);
    out.key("size").big(facts.closed->size).end_object();
  } else {
    out.null();
  }
  out.key("ranges").begin_array();
  for (const Range& range : facts.ranges) {
    out.begin_object().key("first").big(range.first).key("end").big(range.end).end_object();
  }
  out.end_array().key("versions").begin_array();
  for (const StreamJoin& join : view.joins(stream)) {
    out.begin_object();
    out.key("version").count(join.attributes->version);
    out.key("from").big(join.attributes->from);
    write_attributes(out, join);
    out.end_object();
  }
  out.end_array();
  out.optional_time("first_time", facts.first_time);
  out.optional_time("last_time", facts.last_time);
  out.optional_integer("last_iteration", facts.last_iteration);
  out.end_object();
}

void write_process(JsonWriter& out, const ProcessFacts& process) {
  const ProcessInfo& info = process.info;
  out.begin_object();
  out.key("key").string(info.key());
  out.key("job").string(info.job);
  out.key("host").string(info.host);
  out.key("pid").integer(info.pid);
  out.optional_integer("attempt", process.attempt);
  out.optional_integer("stated_attempt", info.stated_attempt);
  out.key("start").time(info.start);
  out.key("start_error").big_signed(info.start_error);
  out.optional_time("exit", info.exit);
  if (info.exit) out.key("exit_error").big_signed(info.exit_error);
  if (info.exit_status) write_exit(out, *info.exit_status);
  out.key("last_seen").time(info.last_seen);
  out.optional_integer("rank", info.rank);
  out.optional_integer("local_rank", info.local_rank);
  out.optional_integer("group_rank", info.group_rank);
  out.optional_integer("world_size", info.world_size);
  out.optional_string("rank_source", info.rank_source);
  out.optional_string("launcher", info.launcher);
  out.optional_integer("restart_count", info.restart_count);
  write_map(out, "identity", info.identity);
  out.key("gpus").begin_array();
  for (const Gpu& gpu : info.gpus) {
    out.begin_object().key("index").integer(gpu.index);
    out.optional_string("uuid", gpu.uuid).optional_string("pci", gpu.pci).end_object();
  }
  out.end_array();
  out.optional_string("container", info.container);
  out.optional_string("pod", info.pod);
  out.optional_string("user", info.user);
  out.optional_string("command", info.command);
  write_map(out, "not_captured", info.not_captured);
  out.end_object();
}

void write_completeness(JsonWriter& out, const Completeness& completeness) {
  out.begin_object();
  out.key("complete").boolean(completeness.complete);
  out.key("reasons").begin_array();
  for (const std::string& reason : completeness.reasons) out.string(reason);
  out.end_array().key("streams").begin_object();
  out.key("total").count(completeness.streams);
  out.key("lagging").count(completeness.lagging);
  out.key("gaps").count(completeness.gaps);
  out.end_object().end_object();
}

}  // namespace logarithm::aggregator
