#include "common/line/line_memory.h"

#include <utility>

#include "common/line/digit_shape.h"

namespace logarithm {

const LineReading* LineMemory::find(std::string_view line, std::uint64_t context, Shape& shape,
                                    LogHeader& header) {
  fold_digits(line, folded_);
  shape.text = std::string_view(folded_, line.size());
  shape.context = context;
  shape.key = (hash_shape(shape.text) ^ context * 0x9E3779B97F4A7C15u) | 1u;
  const Bucket& bucket = buckets_[(shape.key >> 1) % kBuckets];
  std::size_t alike = 0;
  for (std::size_t way = 0; way < kWays; ++way) {
    if (bucket.keys[way] != shape.key) continue;
    const Entry& entry = *bucket.entries[way];
    if (entry.context != context || entry.shape != shape.text) continue;
    ++alike;
    if (!entry.reading) {
      alike = kWays;
    } else if (entry.reading->read(line, header)) {
      return &*entry.reading;
    }
  }
  // Where three readings do not do, a fourth one would not either.
  shape.worth_it = false;
  if (alike == kWays || alike == kWays - 1) return nullptr;
  std::uint32_t& seen = seen_[(shape.key >> 20) % kSeen];
  const auto mark = static_cast<std::uint32_t>(shape.key >> 32) | 1u;
  shape.worth_it = alike > 0 || seen == mark;
  seen = mark;
  return nullptr;
}

void LineMemory::put(const Shape& shape, std::optional<LineReading> reading) {
  Bucket& bucket = buckets_[(shape.key >> 1) % kBuckets];
  std::size_t way = 0;
  while (way < kWays && bucket.entries[way]) ++way;
  if (way == kWays) way = next_++ % kWays;
  bucket.keys[way] = shape.key;
  auto& entry = bucket.entries[way];
  if (!entry) entry = std::make_unique<Entry>();
  entry->context = shape.context;
  entry->shape = shape.text;
  entry->reading = std::move(reading);
}

}  // namespace logarithm
