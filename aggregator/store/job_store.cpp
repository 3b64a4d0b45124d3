#include "aggregator/store/job_store.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "aggregator/store/directory_listing.h"
#include "aggregator/store/range_set.h"
#include "common/base/logging.h"
#include "common/model/ranges.h"

namespace logarithm::aggregator {
namespace {

// Numbers of "part-N.db" in a directory, and the first number that no file (damaged ones too) has.
struct PartFiles {
  std::set<std::uint32_t> parts;
  std::uint32_t next = 0;
};

Result<PartFiles> list_parts(const std::string& directory) {
  PartFiles files;
  LGR_TRY(auto entries, list_directory(directory));
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("part-")) continue;
    std::uint32_t number = 0;
    const char* end = name.data() + name.size();
    auto [stop, wrong] = std::from_chars(name.data() + 5, end, number);
    if (wrong != std::errc{} || number == UINT32_MAX) continue;
    files.next = std::max(files.next, number + 1);
    if (std::string_view(stop, static_cast<std::size_t>(end - stop)) == ".db") {
      files.parts.insert(number);
    }
  }
  return files;
}

}  // namespace

std::string JobStore::part_path(std::uint32_t part) const {
  return directory_ + "/part-" + std::to_string(part) + ".db";
}

Result<std::shared_ptr<JobStore>> JobStore::open(BlockingToken& token, Catalogue& catalogue,
                                                 const Catalogue::Job& job, std::string directory,
                                                 const JobStoreOptions& options, const Clock& clock,
                                                 StoreCounters& counters) {
  auto store = std::shared_ptr<JobStore>(
      new JobStore(catalogue, job, std::move(directory), options, clock, counters));
  std::lock_guard lock(store->write_);
  LGR_CHECK(store->open_all(token));
  return store;
}

Status JobStore::open_all(BlockingToken& token) {
  std::error_code problem;
  std::filesystem::create_directories(directory_, problem);
  if (problem) return errno_error(problem.value(), "create " + directory_);
  LGR_TRY(PartFiles files, list_parts(directory_));
  // Never the number of a part that was there once: readers know parts by their numbers.
  next_part_ = std::max({next_part_, files.next, job_.next_part});
  LGR_TRY(Retained retained, catalogue_.retained(token, job_));
  retained_ = std::make_shared<const Retained>(std::move(retained));
  {
    std::lock_guard lock(read_);
    read_retained_ = retained_;
  }
  for (std::uint32_t part : files.parts) LGR_CHECK(open_part(token, part));
  if (!parts_.empty()) return {};
  LGR_CHECK(open_part(token, next_part_++));
  if (parts_.empty()) return Error(ErrorCode::io, "the new part is damaged already");
  return {};
}

Status JobStore::open_part(BlockingToken& token, std::uint32_t part) {
  const std::string path = part_path(part);
  std::vector<StreamId> streams;
  auto open = [&]() -> Result<std::unique_ptr<Shard>> {
    LGR_TRY(auto shard, Shard::open(token, path, job_.key, part, options_.database));
    LGR_TRY(streams, shard->streams(token));
    return shard;
  };
  auto shard = open();
  if (!shard.ok() && shard.error().code() == ErrorCode::corrupt) {
    counters_.quarantined.fetch_add(1);
    counters_.losses.fetch_add(1);
    LGR_ERROR("shard damaged, moved aside path={} error=\"{}\"", path, shard.error().to_string());
    LGR_CHECK(quarantine(token, path));
    return catalogue_.remove_part(token, job_, part);
  }
  if (!shard.ok()) return shard.error().with_context("open shard");
  LGR_CHECK(catalogue_.add_part(token, job_, part));
  // The shards are the truth: what a lost or older catalogue lacks is put back.
  LGR_CHECK(catalogue_.add_streams(token, job_, part, streams));
  parts_.push_back(std::move(*shard));
  part_count_.store(parts_.size());
  std::lock_guard lock(read_);
  reader_parts_.push_back(part);
  readers_.push_back(std::make_shared<ReaderPool>(path));
  facts_.reset();
  return {};
}

Status JobStore::roll_if_full(BlockingToken& token) {
  LGR_TRY(std::uint64_t size, parts_.back()->size(token));
  const std::chrono::nanoseconds max_age(max_part_age_.load());
  bool full = size >= max_part_bytes_.load();
  if (!full && max_age.count() > 0) {
    LGR_TRY(const auto first, parts_.back()->first_ingested(token));
    full = first && clock_.wall_now() - *first >= max_age.count();
  }
  if (!full) return {};
  LGR_INFO("shard rolled part={} bytes={}", parts_.back()->part(), size);
  LGR_CHECK(open_part(token, next_part_++));
  return {};
}

// A write reads older parts too. The newest is blamed only when no older one is found damaged:
// moving a whole part aside for another's damage would hide its lines, and go on for ever.
std::size_t JobStore::damaged_part(BlockingToken& token) {
  for (std::size_t i = 0; i + 1 < parts_.size(); ++i) {
    auto whole = parts_[i]->is_whole(token);
    if (!whole.ok() ? whole.error().code() == ErrorCode::corrupt : !*whole) return i;
  }
  return parts_.size() - 1;
}

void JobStore::after_failure(BlockingToken& token, const Error& error) {
  for (auto& part : parts_) part->forget();
  if (error.code() != ErrorCode::corrupt) return;
  // Damage that shows only now. The part is moved aside whole and, when it was the one written to,
  // a new one begun: what agents send is taken again, and nobody loops over a broken file.
  const std::size_t at = damaged_part(token);
  const bool newest = at + 1 == parts_.size();
  const std::uint32_t part = parts_[at]->part();
  counters_.quarantined.fetch_add(1);
  LGR_ERROR("shard damaged, moved aside part={} error=\"{}\"", part, error.to_string());
  const auto place = static_cast<std::ptrdiff_t>(at);
  parts_.erase(parts_.begin() + place);
  {
    std::lock_guard lock(read_);
    reader_parts_.erase(reader_parts_.begin() + place);
    readers_.erase(readers_.begin() + place);
    facts_.reset();
  }
  Status moved = quarantine(token, part_path(part));
  if (moved.ok()) moved = catalogue_.remove_part(token, job_, part);
  if (moved.ok() && newest) moved = open_part(token, next_part_++);
  if (!moved.ok()) LGR_ERROR("no new shard error=\"{}\"", moved.error().to_string());
  part_count_.store(parts_.size());
  counters_.losses.fetch_add(1);
}

Result<std::vector<IngestOutcome>> JobStore::apply(BlockingToken& token,
                                                   const std::vector<IngestItem>& items,
                                                   bool refuse_blocks) {
  std::lock_guard lock(write_);
  LGR_CHECK(let_go_of_vanished(token));
  if (parts_.empty()) LGR_CHECK(open_part(token, next_part_++));
  LGR_CHECK(roll_if_full(token));
  Shard& shard = *parts_.back();
  auto run = [&]() -> Result<std::vector<IngestOutcome>> {
    LGR_TRY(Transaction transaction, Transaction::begin(token, shard.database()));
    Batch batch(token, parts_, *retained_, job_.key, clock_.wall_now(), refuse_blocks);
    std::vector<IngestOutcome> outcomes;
    outcomes.reserve(items.size());
    for (const IngestItem& item : items) {
      LGR_TRY(IngestOutcome outcome, batch.put(item));
      outcomes.push_back(std::move(outcome));
    }
    LGR_CHECK(shard.count_commit(token));
    Status named = catalogue_.add_streams(token, job_, shard.part(), batch.new_streams());
    // Whatever is wrong with the catalogue, the shard is not damaged by it.
    if (!named.ok()) return Error(ErrorCode::unavailable, named.error().message());
    LGR_CHECK(transaction.commit());
    // Not into the void: what was committed must lie where it will be found.
    LGR_TRY(const Shard::Place place, shard.place(token));
    if (place != Shard::Place::here) {
      return Error(ErrorCode::unavailable, "the shard was removed while it was written");
    }
    counters_.blocks.fetch_add(batch.counts().blocks);
    counters_.lines.fetch_add(batch.counts().lines);
    counters_.bytes.fetch_add(batch.counts().bytes);
    return outcomes;
  };
  auto outcomes = run();
  if (!outcomes.ok()) {
    after_failure(token, outcomes.error());
    return outcomes.error().with_context("apply");
  }
  return outcomes;
}

Result<std::vector<StoredGeneration>> JobStore::stored(BlockingToken& token, StreamBase base) {
  std::lock_guard lock(write_);
  std::map<std::uint32_t, StoredGeneration> generations;
  std::map<std::uint32_t, std::uint64_t> tails;
  StreamId first;
  first.base = base;
  const auto& kept = retained_->streams;
  for (auto at = kept.lower_bound(first); at != kept.end() && at->first.base == base; ++at) {
    generations[at->first.generation] = as_generation(at->second);
    tails[at->first.generation] = at->second.tail_end;
  }
  for (const auto& part : parts_) {
    LGR_TRY(auto ids, part->generations(token, base));
    for (const StreamId& id : ids) {
      LGR_TRY(Shard::Stream * stream, part->find_stream(token, id));
      if (stream == nullptr) continue;
      StoredGeneration& generation = generations[id.generation];
      generation.generation = id.generation;
      if (stream->head.size() > generation.head.size()) generation.head = stream->head;
      for (const Range& range : stream->ranges) add_range(generation.ranges, range);
      if (stream->tail_end > tails[id.generation]) {
        tails[id.generation] = stream->tail_end;
        generation.tail_crc = stream->tail_crc;
      }
      generation.closed = generation.closed || stream->closed;
      LGR_TRY(const std::vector<Range> gaps, part->gaps(token, *stream));
      generation.lost.insert(generation.lost.end(), gaps.begin(), gaps.end());
      if (!stream->versions.empty()) {
        generation.last_version =
            std::max(generation.last_version, stream->versions.rbegin()->first);
      }
    }
  }
  std::vector<StoredGeneration> result;
  for (auto& [number, generation] : generations) {
    // A gap in a block says nothing that its range does not.
    generation.lost = without(std::move(generation.lost), generation.ranges);
    result.push_back(std::move(generation));
  }
  return result;
}

Result<JobStore::View> JobStore::view(BlockingToken& token) {
  // A part may be unlinked between the look at the list and the opening: then the list is another.
  for (int attempt = 0;; ++attempt) {
    auto view = try_view(token);
    if (view.ok() || view.error().code() != ErrorCode::not_found || attempt == 3) return view;
  }
}

Result<JobStore::View> JobStore::try_view(BlockingToken& token) {
  View view;
  std::shared_ptr<const JobFacts> cached;
  std::shared_ptr<const Retained> retained;
  {
    std::lock_guard lock(read_);
    view.pools = readers_;
    view.parts = reader_parts_;
    cached = facts_;
    retained = read_retained_;
  }
  std::vector<std::int64_t> commits;
  for (const auto& pool : view.pools) {
    LGR_TRY(auto reader, pool->take(token));
    LGR_TRY(std::int64_t commit, load_commit(token, *reader));
    commits.push_back(commit);
    view.readers.push_back(std::move(reader));
  }
  if (cached != nullptr && cached->commits == commits) {
    view.facts = std::move(cached);
    return view;
  }
  std::vector<PartFacts> parts;
  for (const auto& reader : view.readers) {
    LGR_TRY(auto facts, load_part_facts(token, *reader));
    parts.push_back(std::move(facts));
  }
  view.facts = std::make_shared<const JobFacts>(merge_facts(std::move(parts), *retained));
  std::lock_guard lock(read_);
  if (reader_parts_ == view.parts && read_retained_ == retained) facts_ = view.facts;
  return view;
}

}  // namespace logarithm::aggregator
