// What the catalogue alone knows: parts that retention unlinked, and the history of clocks.
#include <algorithm>

#include "aggregator/store/catalogue.h"
#include "aggregator/store/model_text.h"
#include "aggregator/store/process_merge.h"

namespace logarithm::aggregator {
namespace {

// One JSON object a line.
std::string to_lines(const std::vector<StreamAttributes>& versions) {
  std::string out;
  for (const StreamAttributes& version : versions) out += to_text(version) + "\n";
  return out;
}

Result<std::vector<StreamAttributes>> from_lines(std::string_view text) {
  std::vector<StreamAttributes> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    LGR_TRY(auto version, parse_attributes(text.substr(0, end)));
    out.push_back(std::move(version));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

StreamId stream_at(const Statement& row, int column) {
  return StreamId{StreamBase{row.u64(column), row.u64(column + 1)}, row.u32(column + 2)};
}

}  // namespace

Status Catalogue::put_retained(BlockingToken& token, const Job& job, const RetainedStream& stream) {
  const StreamBase& base = stream.id.base;
  std::optional<std::uint64_t> closed_size;
  std::optional<std::string> closed_reason;
  if (stream.closed) {
    closed_size = stream.closed->size;
    closed_reason = stream.closed->reason;
  }
  const std::string versions = to_lines(stream.versions);
  LGR_CHECK(database_->run(
      token,
      "INSERT OR REPLACE INTO retained_streams(job, base_hi, base_lo, generation, head, "
      "predecessor, tail_end, tail_crc, closed_size, closed_reason, versions, at) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      job.id, base.hi, base.lo, stream.id.generation, Blob{stream.head}, stream.predecessor,
      stream.tail_end, stream.tail_crc, closed_size, closed_reason, versions, stream.at));
  LGR_CHECK(database_->run(token,
                           "DELETE FROM retained_ranges WHERE job=? AND base_hi=? AND base_lo=? "
                           "AND generation=?",
                           job.id, base.hi, base.lo, stream.id.generation));
  for (const Range& range : stream.ranges) {
    LGR_CHECK(database_->run(token,
                             "INSERT INTO retained_ranges(job, base_hi, base_lo, generation, "
                             "first, end) VALUES(?, ?, ?, ?, ?, ?)",
                             job.id, base.hi, base.lo, stream.id.generation, range.first,
                             range.end));
  }
  return {};
}

Result<Retained> Catalogue::load_retained(BlockingToken& token, const Job& job) {
  Retained out;
  LGR_TRY(Statement streams,
          database_->prepare("SELECT base_hi, base_lo, generation, head, predecessor, tail_end, "
                             "tail_crc, closed_size, closed_reason, versions, at FROM "
                             "retained_streams WHERE job=?"));
  streams.bind_all(job.id);
  for (;;) {
    LGR_TRY(bool more, streams.step(token));
    if (!more) break;
    RetainedStream stream;
    stream.id = stream_at(streams, 0);
    stream.head = streams.bytes(3);
    if (!streams.is_null(4)) stream.predecessor = streams.u32(4);
    stream.tail_end = streams.u64(5);
    stream.tail_crc = streams.u32(6);
    if (!streams.is_null(7)) {
      wire::Closed closed;
      closed.stream = stream.id;
      closed.job = job.key.job;
      closed.size = streams.u64(7);
      closed.reason = streams.bytes(8);
      stream.closed = std::move(closed);
    }
    LGR_TRY(stream.versions, from_lines(streams.bytes(9)));
    stream.at = streams.integer(10);
    out.streams.emplace(stream.id, std::move(stream));
  }
  LGR_TRY(Statement ranges, database_->prepare("SELECT base_hi, base_lo, generation, first, end "
                                               "FROM retained_ranges WHERE job=?"));
  ranges.bind_all(job.id);
  for (;;) {
    LGR_TRY(bool more, ranges.step(token));
    if (!more) break;
    const auto stream = out.streams.find(stream_at(ranges, 0));
    if (stream == out.streams.end()) continue;
    stream->second.ranges.push_back(Range{ranges.u64(3), ranges.u64(4)});
  }
  // SQL sorts offsets as signed numbers.
  for (auto& [id, stream] : out.streams) {
    std::sort(stream.ranges.begin(), stream.ranges.end(),
              [](const Range& a, const Range& b) { return a.first < b.first; });
  }
  LGR_TRY(Statement processes,
          database_->prepare("SELECT key, facts FROM retained_processes WHERE job=?"));
  processes.bind_all(job.id);
  for (;;) {
    LGR_TRY(bool more, processes.step(token));
    if (!more) return out;
    LGR_TRY(auto process, parse_process(processes.bytes(1)));
    out.processes.emplace(processes.bytes(0), std::move(process));
  }
}

Result<Retained> Catalogue::retained(BlockingToken& token, const Job& job) {
  std::lock_guard lock(mutex_);
  return load_retained(token, job);
}

Status Catalogue::retire_part(BlockingToken& token, const Job& job, std::uint32_t part,
                              const Retained& retained) {
  std::lock_guard lock(mutex_);
  LGR_TRY(Transaction transaction, Transaction::begin(token, *database_));
  LGR_TRY(Retained known, load_retained(token, job));
  for (const auto& [id, stream] : retained.streams) {
    const auto [kept, fresh] = known.streams.try_emplace(id, stream);
    if (!fresh) merge_retained(kept->second, stream);
    LGR_CHECK(put_retained(token, job, kept->second));
  }
  for (const auto& [key, process] : retained.processes) {
    const auto kept = known.processes.find(key);
    const std::string facts =
        to_text(kept == known.processes.end() ? process : merge_process(kept->second, process));
    LGR_CHECK(database_->run(token,
                             "INSERT OR REPLACE INTO retained_processes(job, key, facts, at) "
                             "VALUES(?, ?, ?, ?)",
                             job.id, key, facts, retained.at));
  }
  LGR_CHECK(database_->run(token, "DELETE FROM parts WHERE job=? AND part=?", job.id, part));
  LGR_CHECK(database_->run(token, "DELETE FROM streams WHERE job=? AND part=?", job.id, part));
  LGR_CHECK(database_->run(token, "UPDATE jobs SET next_part=max(next_part, ?) WHERE id=?",
                           part + 1, job.id));
  LGR_CHECK(transaction.commit());
  Job& listed = jobs_[job.key];
  listed.parts.erase(part);
  listed.next_part = std::max(listed.next_part, part + 1);
  return {};
}

Status Catalogue::forget_retained(BlockingToken& token, UnixNanos before) {
  std::lock_guard lock(mutex_);
  LGR_TRY(Transaction transaction, Transaction::begin(token, *database_));
  LGR_CHECK(database_->run(token, "DELETE FROM retained_streams WHERE at<?", before));
  LGR_CHECK(database_->run(token, "DELETE FROM retained_processes WHERE at<?", before));
  LGR_CHECK(database_->run(
      token,
      "DELETE FROM retained_ranges WHERE NOT EXISTS(SELECT 1 FROM retained_streams s WHERE "
      "s.job=retained_ranges.job AND s.base_hi=retained_ranges.base_hi AND "
      "s.base_lo=retained_ranges.base_lo AND s.generation=retained_ranges.generation)"));
  return transaction.commit();
}

// ---- clocks

Status Catalogue::add_clock_readings(BlockingToken& token, const std::vector<HostClock>& readings) {
  if (readings.empty()) return {};
  std::lock_guard lock(mutex_);
  LGR_TRY(Transaction transaction, Transaction::begin(token, *database_));
  for (const HostClock& one : readings) {
    LGR_CHECK(database_->run(token,
                             "INSERT OR REPLACE INTO clock_history(tenant, host, at, offset, "
                             "error) VALUES(?, ?, ?, ?, ?)",
                             one.tenant, one.host, one.reading.at, one.reading.offset,
                             one.reading.error));
  }
  return transaction.commit();
}

Status Catalogue::forget_clock_readings(BlockingToken& token, UnixNanos before) {
  std::lock_guard lock(mutex_);
  return database_->run(token, "DELETE FROM clock_history WHERE at<?", before);
}

Result<std::vector<ClockReading>> Catalogue::clock_history(BlockingToken& token,
                                                           const std::string& tenant,
                                                           const std::string& host) {
  std::lock_guard lock(mutex_);
  LGR_TRY(Statement rows, database_->prepare("SELECT at, offset, error FROM clock_history WHERE "
                                             "tenant=? AND host=? ORDER BY at"));
  rows.bind_all(tenant, host);
  std::vector<ClockReading> out;
  for (;;) {
    LGR_TRY(bool more, rows.step(token));
    if (!more) return out;
    out.push_back(ClockReading{rows.integer(0), rows.integer(1), rows.integer(2)});
  }
}

}  // namespace logarithm::aggregator
