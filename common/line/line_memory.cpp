#include "common/line/line_memory.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "common/line/digit_shape.h"

namespace logarithm {
namespace {

void add(std::atomic<std::uint64_t>& to, std::uint64_t more) {
  to.store(to.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

// The memories there are, and what those that are gone have counted.
struct LineMemory::All {
  std::mutex mutex;
  std::vector<const Counters*> counters;
  LineMemoryCounters gone;
};

// Never destroyed: threads may end after main().
LineMemory::All& LineMemory::all() {
  static All* const all = new All();
  return *all;
}

LineMemoryCounters line_memory_counters() {
  LineMemory::All& all = LineMemory::all();
  const std::lock_guard lock(all.mutex);
  LineMemoryCounters out = all.gone;
  for (const auto* counters : all.counters) {
    out.entries += counters->entries.load(std::memory_order_relaxed);
    out.bytes += counters->bytes.load(std::memory_order_relaxed);
    out.hits += counters->hits.load(std::memory_order_relaxed);
    out.misses += counters->misses.load(std::memory_order_relaxed);
    out.replaced += counters->replaced.load(std::memory_order_relaxed);
  }
  return out;
}

LineMemory::LineMemory() : buckets_(kBuckets), seen_(kSeen) {
  add(counters_.bytes, kBuckets * sizeof(Bucket) + kSeen * sizeof(seen_[0]));
  const std::lock_guard lock(all().mutex);
  all().counters.push_back(&counters_);
}

LineMemory::~LineMemory() {
  const std::lock_guard lock(all().mutex);
  std::erase(all().counters, &counters_);
  all().gone.hits += counters_.hits;
  all().gone.misses += counters_.misses;
  all().gone.replaced += counters_.replaced;
}

const LineReading* LineMemory::find(std::string_view line, std::uint64_t context, Shape& shape,
                                    LogHeader& header) {
  fold_digits(line, folded_);
  shape.text = std::string_view(folded_, line.size());
  shape.context = context;
  shape.key = (hash_shape(shape.text) ^ context * 0x9E3779B97F4A7C15u) | 1u;
  shape.worth_it = false;
  const Bucket& bucket = buckets_[(shape.key >> 1) % kBuckets];
  std::size_t alike = 0;
  for (std::size_t way = 0; way < kWays; ++way) {
    if (bucket.keys[way] != shape.key) continue;
    Entry& entry = *bucket.entries[way];
    if (entry.context != context || entry.shape != shape.text) continue;
    ++alike;
    if (!entry.reading) {
      alike = kWays;
      ++entry.hits;
    } else if (entry.reading->read(line, header)) {
      ++entry.hits;
      add(counters_.hits, 1);
      return &*entry.reading;
    }
  }
  add(counters_.misses, 1);
  // Where three readings do not do, a fourth one would not either.
  if (alike == kWays || alike == kWays - 1) return nullptr;
  shape.worth_it = came_often(shape.key) || alike > 0;
  return nullptr;
}

bool LineMemory::came_often(std::uint64_t key) {
  constexpr std::uint32_t kCount = 15;
  std::uint32_t& seen = seen_[(key >> 20) % kSeen];
  const auto mark = static_cast<std::uint32_t>(key >> 32) & ~kCount;
  if ((seen & ~kCount) != mark) seen = mark;
  if ((seen & kCount) < kCount) ++seen;
  return (seen & kCount) > 1u + waste_ / 8;
}

void LineMemory::put(const Shape& shape, std::optional<LineReading> reading) {
  Bucket& bucket = buckets_[(shape.key >> 1) % kBuckets];
  std::size_t way = 0;
  while (way < kWays && bucket.entries[way]) ++way;
  if (way == kWays) way = next_++ % kWays;
  bucket.keys[way] = shape.key;
  auto& entry = bucket.entries[way];
  if (!entry) {
    entry = std::make_unique<Entry>();
    add(counters_.entries, 1);
  } else {
    add(counters_.replaced, 1);
    if (entry->hits >= kPays) {
      waste_ -= waste_ > 0 ? 1u : 0u;
    } else {
      waste_ = std::min(waste_ + 1, kMostWaste);
    }
  }
  entry->hits = 0;
  entry->context = shape.context;
  entry->shape = shape.text;
  entry->reading = std::move(reading);
  const std::size_t bytes =
      sizeof(Entry) + entry->shape.capacity() + (entry->reading ? entry->reading->bytes() : 0);
  add(counters_.bytes, bytes - entry->bytes);
  entry->bytes = static_cast<std::uint32_t>(bytes);
}

}  // namespace logarithm
