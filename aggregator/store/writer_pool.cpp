#include "aggregator/store/writer_pool.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <iterator>

#include "common/base/logging.h"

namespace logarithm::aggregator {
namespace {

constexpr std::size_t kItemOverhead = 256;
// Older lines are a back-fill or an import and say nothing about how fresh the live ones are.
constexpr double kFreshestOld = 3600;

std::size_t bytes_of(const IngestItem& item) {
  std::size_t bytes = kItemOverhead;
  if (const auto* block = std::get_if<wire::Block>(&item)) bytes += block->bytes.size();
  if (const auto* templates = std::get_if<wire::Templates>(&item)) {
    for (const TemplateDef& definition : templates->templates) {
      bytes += definition.text.size() + sizeof definition;
    }
  }
  if (const auto* processes = std::get_if<wire::Processes>(&item)) {
    bytes += processes->processes.size() * sizeof(ProcessInfo);
  }
  return bytes;
}

}  // namespace

bool WriterPool::submit(const JobKey& job, std::vector<IngestItem> items, Completion done,
                        std::optional<UnixNanos> oldest_observed) {
  Entry entry;
  for (const IngestItem& item : items) entry.bytes += bytes_of(item);
  entry.count = items.size();
  entry.items = std::move(items);
  entry.oldest_observed = oldest_observed;
  entry.done = std::move(done);
  {
    std::lock_guard lock(mutex_);
    if (stats_.queued_bytes + entry.bytes > options_.max_queued_bytes && stats_.queued > 0) {
      ++stats_.overloaded;
      return false;
    }
    stats_.queued_bytes += entry.bytes;
    ++stats_.queued;
    Queue& queue = queues_[job];
    queue.entries.push_back(std::move(entry));
    if (queue.running) return true;
    queue.running = true;
  }
  start(job);
  return true;
}

void WriterPool::start(const JobKey& job) {
  workers_.post([this, job](BlockingToken& token) {
    // One commit a turn: with more jobs than workers every job gets its turn.
    if (run_once(token, job)) start(job);
    return Status();
  });
}

std::vector<WriterPool::Entry> WriterPool::take(const JobKey& job) {
  std::lock_guard lock(mutex_);
  Queue& queue = queues_[job];
  std::vector<Entry> entries;
  std::size_t bytes = 0;
  while (!queue.entries.empty()) {
    Entry& next = queue.entries.front();
    if (!entries.empty() && bytes + next.bytes > options_.max_commit_bytes) break;
    bytes += next.bytes;
    entries.push_back(std::move(next));
    queue.entries.pop_front();
  }
  return entries;
}

bool WriterPool::run_once(BlockingToken& token, const JobKey& job) {
  std::vector<Entry> entries = take(job);
  std::vector<IngestItem> items;
  Commit commit;
  commit.job = job;
  std::optional<UnixNanos> oldest;
  for (Entry& entry : entries) {
    std::move(entry.items.begin(), entry.items.end(), std::back_inserter(items));
    if (entry.oldest_observed) {
      oldest = oldest ? std::min(*oldest, *entry.oldest_observed) : *entry.oldest_observed;
    }
  }
  const MonotonicTime begin = clock_.now();
  auto outcomes = storage_.apply(token, job, items);
  commit.seconds = std::chrono::duration<double>(clock_.now() - begin).count();
  if (oldest) {
    const double age = static_cast<double>(clock_.wall_now() - *oldest) / 1e9;
    if (age >= 0 && age < kFreshestOld) commit.freshness = age;
  }
  if (outcomes.ok()) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto* block = std::get_if<wire::Block>(&items[i]);
      if (block == nullptr || !(*outcomes)[i].stored) continue;
      Commit::Stored stored;
      stored.stream = block->stream;
      stored.range = Range{block->first, block->end};
      commit.blocks.push_back(stored);
    }
  } else {
    std::uint64_t suppressed = 0;
    if (warning_.allow(clock_.now(), suppressed)) {
      LGR_WARN("commit failed, agents will send again error=\"{}\" suppressed={}",
               outcomes.error().to_string(), suppressed);
    }
  }
  items.clear();
  bool more = false;
  {
    // What was taken counts as queued until here: its memory was in use.
    std::lock_guard lock(mutex_);
    for (const Entry& entry : entries) stats_.queued_bytes -= entry.bytes;
    stats_.queued -= entries.size();
    ++(outcomes.ok() ? stats_.commits : stats_.failed);
    auto queue = queues_.find(job);
    more = !queue->second.entries.empty();
    if (!more) queues_.erase(queue);
  }
  finish(std::move(entries), std::move(outcomes), std::move(commit));
  return more;
}

void WriterPool::finish(std::vector<Entry> entries, Result<std::vector<IngestOutcome>> outcomes,
                        Commit commit) {
  auto shared_entries = std::make_shared<std::vector<Entry>>(std::move(entries));
  auto shared_outcomes = std::make_shared<Result<std::vector<IngestOutcome>>>(std::move(outcomes));
  boost::asio::post(executor_, [this, shared_entries, shared_outcomes, commit = std::move(commit)] {
    std::size_t next = 0;
    for (Entry& entry : *shared_entries) {
      if (!shared_outcomes->ok()) {
        entry.done(shared_outcomes->error());
        continue;
      }
      const std::size_t count = entry.count;
      auto begin = (*shared_outcomes)->begin() + static_cast<std::ptrdiff_t>(next);
      std::vector<IngestOutcome> own(
          std::make_move_iterator(begin),
          std::make_move_iterator(begin + static_cast<std::ptrdiff_t>(count)));
      next += count;
      entry.done(std::move(own));
    }
    if (hook_ && shared_outcomes->ok()) hook_(commit);
  });
}

WriterPool::Stats WriterPool::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace logarithm::aggregator
