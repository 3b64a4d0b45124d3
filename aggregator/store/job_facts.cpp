#include "aggregator/store/job_facts.h"

#include <algorithm>
#include <map>

#include "aggregator/store/attempts.h"
#include "aggregator/store/model_text.h"
#include "aggregator/store/process_merge.h"
#include "aggregator/store/range_set.h"

namespace logarithm::aggregator {
namespace {

// A process that was not seen for so long is taken for gone: its agent died with it.
constexpr UnixNanos kRunningWithin = 120'000'000'000;

using Rows = std::unordered_map<std::int64_t, std::size_t>;

// Calls each(statement) for every row.
template <typename Each>
Status for_rows(BlockingToken& token, Database& reader, std::string_view sql, Each&& each) {
  LGR_TRY(Statement rows, reader.prepare(sql));
  for (;;) {
    LGR_TRY(bool more, rows.step(token));
    if (!more) return {};
    LGR_CHECK(each(rows));
  }
}

Status load_streams(BlockingToken& token, Database& reader, PartFacts& facts, Rows& rows) {
  return for_rows(
      token, reader,
      "SELECT id, base_hi, base_lo, generation, lines, raw_bytes, errors, first_time, last_time, "
      "last_iteration FROM streams",
      [&](const Statement& row) -> Status {
        StreamFacts stream;
        stream.id = StreamId{StreamBase{row.u64(1), row.u64(2)}, row.u32(3)};
        stream.lines = row.u64(4);
        stream.raw_bytes = row.u64(5);
        facts.errors += row.u64(6);
        stream.first_time = row.maybe_integer(7);
        stream.last_time = row.maybe_integer(8);
        stream.last_iteration = row.maybe_integer(9);
        stream.lacks_wrapper_ranks = true;  // until load_ranked() finds some
        rows[row.integer(0)] = facts.streams.size();
        facts.rows.push_back(row.integer(0));
        facts.streams.push_back(std::move(stream));
        return {};
      });
}

StreamFacts* stream_of(PartFacts& facts, const Rows& rows, std::int64_t row) {
  const auto at = rows.find(row);
  return at == rows.end() ? nullptr : &facts.streams[at->second];
}

Status load_versions(BlockingToken& token, Database& reader, PartFacts& facts, const Rows& rows) {
  return for_rows(token, reader,
                  "SELECT stream, facts FROM stream_versions ORDER BY stream, version",
                  [&](const Statement& row) -> Status {
                    LGR_TRY(auto attributes, parse_attributes(row.bytes(1)));
                    StreamFacts* stream = stream_of(facts, rows, row.integer(0));
                    if (stream != nullptr) stream->versions.push_back(std::move(attributes));
                    return {};
                  });
}

Status load_extents(BlockingToken& token, Database& reader, PartFacts& facts, const Rows& rows) {
  LGR_CHECK(for_rows(token, reader, "SELECT stream, first, end FROM ranges",
                     [&](const Statement& row) -> Status {
                       StreamFacts* stream = stream_of(facts, rows, row.integer(0));
                       if (stream != nullptr) {
                         add_range(stream->ranges, Range{row.u64(1), row.u64(2)});
                       }
                       return {};
                     }));
  LGR_CHECK(for_rows(token, reader, "SELECT stream, first, end, reason, at FROM gaps",
                     [&](const Statement& row) -> Status {
                       StreamFacts* stream = stream_of(facts, rows, row.integer(0));
                       if (stream == nullptr) return {};
                       Gap gap;
                       gap.from = row.u64(1);
                       if (!row.is_null(2)) gap.to = row.u64(2);
                       gap.reason = row.bytes(3);
                       gap.at = row.integer(4);
                       stream->gaps.push_back(std::move(gap));
                       return {};
                     }));
  return for_rows(token, reader, "SELECT stream, size, reason FROM closed",
                  [&](const Statement& row) -> Status {
                    StreamFacts* stream = stream_of(facts, rows, row.integer(0));
                    if (stream == nullptr) return {};
                    wire::Closed closed;
                    closed.stream = stream->id;
                    closed.size = row.u64(1);
                    closed.reason = row.bytes(2);
                    stream->closed = std::move(closed);
                    return {};
                  });
}

Status load_ranked(BlockingToken& token, Database& reader, PartFacts& facts, const Rows& rows) {
  for (const std::string_view sql :
       {"SELECT DISTINCT stream FROM blocks WHERE rank_min IS NOT NULL",
        "SELECT DISTINCT stream FROM inbox WHERE rank_min IS NOT NULL"}) {
    LGR_CHECK(for_rows(token, reader, sql, [&](const Statement& row) -> Status {
      StreamFacts* stream = stream_of(facts, rows, row.integer(0));
      if (stream != nullptr) stream->lacks_wrapper_ranks = false;
      return {};
    }));
  }
  return {};
}

template <typename T, typename Pick>
void widen(std::optional<T>& into, const std::optional<T>& from, Pick pick) {
  if (from) into = into ? pick(*into, *from) : *from;
}

// Adds what another part knows of the same stream.
void merge_stream(StreamFacts& into, StreamFacts from) {
  for (StreamAttributes& version : from.versions) {
    auto same = std::find_if(into.versions.begin(), into.versions.end(),
                             [&](const auto& v) { return v.version == version.version; });
    // The newer part has the newer correction.
    if (same != into.versions.end()) {
      *same = std::move(version);
    } else {
      into.versions.push_back(std::move(version));
    }
  }
  for (const Range& range : from.ranges) add_range(into.ranges, range);
  into.gaps.insert(into.gaps.end(), from.gaps.begin(), from.gaps.end());
  if (from.closed) into.closed = std::move(from.closed);
  into.lacks_wrapper_ranks = into.lacks_wrapper_ranks && from.lacks_wrapper_ranks;
  into.lines += from.lines;
  into.raw_bytes += from.raw_bytes;
  auto least = [](auto a, auto b) { return std::min(a, b); };
  auto most = [](auto a, auto b) { return std::max(a, b); };
  widen(into.first_time, from.first_time, least);
  widen(into.last_time, from.last_time, most);
  widen(into.last_iteration, from.last_iteration, most);
}

void put_in_order(StreamFacts& stream) {
  std::sort(stream.versions.begin(), stream.versions.end(),
            [](const auto& a, const auto& b) { return a.version < b.version; });
  std::sort(stream.gaps.begin(), stream.gaps.end(), [](const Gap& a, const Gap& b) {
    return a.from != b.from ? a.from < b.from : a.reason < b.reason;
  });
  stream.gaps.erase(std::unique(stream.gaps.begin(), stream.gaps.end()), stream.gaps.end());
  if (stream.closed && !stream.versions.empty()) stream.closed->job = stream.versions[0].job;
}

std::vector<ProcessFacts> with_attempts(std::map<std::string, ProcessInfo> by_key) {
  std::vector<ProcessInfo> processes;
  for (auto& [key, process] : by_key) processes.push_back(std::move(process));
  const std::vector<std::int32_t> attempts = compute_attempts(processes);
  std::vector<ProcessFacts> result(processes.size());
  for (std::size_t i = 0; i < processes.size(); ++i) {
    result[i].info = std::move(processes[i]);
    result[i].attempt = attempts[i];
  }
  return result;
}

}  // namespace

Result<std::int64_t> load_commit(BlockingToken& token, Database& reader) {
  LGR_TRY(auto commit, reader.number(token, "SELECT value FROM meta WHERE key='commit'"));
  return commit.value_or(0);
}

Result<PartFacts> load_part_facts(BlockingToken& token, Database& reader) {
  PartFacts facts;
  Rows rows;
  LGR_TRY(facts.commit, load_commit(token, reader));
  LGR_CHECK(load_streams(token, reader, facts, rows));
  LGR_CHECK(load_versions(token, reader, facts, rows));
  LGR_CHECK(load_extents(token, reader, facts, rows));
  LGR_CHECK(load_ranked(token, reader, facts, rows));
  LGR_CHECK(for_rows(token, reader, "SELECT rank FROM wrapper_ranks",
                     [&](const Statement& row) -> Status {
                       facts.wrapper_ranks.insert(static_cast<std::int32_t>(row.integer(0)));
                       return {};
                     }));
  LGR_CHECK(for_rows(token, reader, "SELECT facts FROM processes WHERE facts IS NOT NULL",
                     [&](const Statement& row) -> Status {
                       LGR_TRY(auto process, parse_process(row.bytes(0)));
                       facts.processes.push_back(std::move(process));
                       return {};
                     }));
  return facts;
}

JobFacts merge_facts(std::vector<PartFacts> parts, const Retained& retained) {
  JobFacts job;
  std::unordered_map<StreamId, std::size_t> known;
  std::map<std::string, ProcessInfo> processes = retained.processes;
  for (PartFacts& part : parts) {
    auto& positions = job.positions.emplace_back();
    job.commits.push_back(part.commit);
    job.errors += part.errors;
    job.wrapper_ranks.merge(part.wrapper_ranks);
    for (std::size_t i = 0; i < part.streams.size(); ++i) {
      auto [at, fresh] = known.try_emplace(part.streams[i].id, job.streams.size());
      positions[part.rows[i]] = at->second;
      if (fresh) {
        job.streams.push_back(std::move(part.streams[i]));
      } else {
        merge_stream(job.streams[at->second], std::move(part.streams[i]));
      }
    }
    for (ProcessInfo& process : part.processes) {
      const std::string key = process.key();
      auto [at, fresh] = processes.try_emplace(key, process);
      if (!fresh) at->second = merge_process(at->second, std::move(process));
    }
  }
  for (StreamFacts& stream : job.streams) put_in_order(stream);
  add_retained(job, retained);
  job.processes = with_attempts(std::move(processes));
  return job;
}

JobSummary summarise(const std::string& job, const JobFacts& facts, UnixNanos now) {
  JobSummary summary;
  summary.job = job;
  summary.errors = facts.errors;
  summary.ranks = facts.wrapper_ranks;
  std::set<std::int32_t> attempts;
  for (const ProcessFacts& process : facts.processes) {
    if (process.attempt) attempts.insert(*process.attempt);
    if (process.info.rank) summary.ranks.insert(*process.info.rank);
    if (!process.info.host.empty()) summary.hosts.insert(process.info.host);
    auto most = [](auto a, auto b) { return std::max(a, b); };
    widen(summary.world_size, process.info.world_size, most);
    if (!process.info.exit && now - process.info.last_seen < kRunningWithin) summary.running = true;
  }
  for (const StreamFacts& stream : facts.streams) {
    summary.lines += stream.lines;
    summary.bytes += stream.raw_bytes;
    auto least = [](auto a, auto b) { return std::min(a, b); };
    auto most = [](auto a, auto b) { return std::max(a, b); };
    widen(summary.first_time, stream.first_time, least);
    widen(summary.last_time, stream.last_time, most);
    widen(summary.last_iteration, stream.last_iteration, most);
    for (const StreamAttributes& version : stream.versions) {
      if (version.attempt) attempts.insert(*version.attempt);
      if (version.rank) summary.ranks.insert(*version.rank);
      if (!version.host.empty()) summary.hosts.insert(version.host);
    }
    // Without processes only the stream itself can say that it goes on.
    if (facts.processes.empty() && !stream.closed && stream.last_time &&
        now - *stream.last_time < kRunningWithin) {
      summary.running = true;
    }
  }
  summary.attempts.assign(attempts.begin(), attempts.end());
  return summary;
}

}  // namespace logarithm::aggregator
