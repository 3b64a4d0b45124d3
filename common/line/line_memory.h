#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/line/line_reading.h"

namespace logarithm {

// What the memories of all threads hold, and have done since the start.
struct LineMemoryCounters {
  std::uint64_t entries = 0, bytes = 0;
  std::uint64_t hits = 0, misses = 0;  // lines that were looked for
  std::uint64_t replaced = 0;          // readings that made room for others
};
LineMemoryCounters line_memory_counters();  // any thread

// Readings by the shape of a whole line (see digit_shape.h), for all streams of a thread. Of a
// fixed size: a shape takes a place when it comes again, and then that of one which came earlier.
// Where readings are replaced before they were of use, it has to come more often.
class LineMemory {
 public:
  // What a line was looked for by.
  struct Shape {
    std::uint64_t key = 0, context = 0;
    std::string_view text;  // valid until the next find()
    bool worth_it = false;  // nothing is known, and it came before: put() is worth its cost
  };

  LineMemory();
  ~LineMemory();
  LineMemory(const LineMemory&) = delete;
  LineMemory& operator=(const LineMemory&) = delete;

  // A reading that holds for `line` (at most LineReading::kLongest bytes), and the header it gives;
  // null where none does. `context` is what else decides: rules, stream, mode.
  const LineReading* find(std::string_view line, std::uint64_t context, Shape& shape,
                          LogHeader& header);
  // Nullopt: lines of this shape have none.
  void put(const Shape& shape, std::optional<LineReading> reading);

 private:
  static constexpr std::size_t kWays = 4, kBuckets = 1024, kSeen = 16384;
  // To make a reading costs what it saves in so many lines.
  static constexpr std::uint32_t kPays = 3;
  static constexpr std::uint32_t kMostWaste = 63;

  // One thread writes.
  struct Counters {
    std::atomic<std::uint64_t> entries{0}, bytes{0}, hits{0}, misses{0}, replaced{0};
  };
  friend LineMemoryCounters line_memory_counters();
  struct All;
  static All& all();

  struct Entry {
    std::uint64_t context = 0;
    std::uint32_t hits = 0, bytes = 0;
    std::optional<LineReading> reading;
    std::string shape;
  };
  struct alignas(64) Bucket {  // one line of the processor's cache
    std::array<std::uint64_t, kWays> keys{};
    std::array<std::unique_ptr<Entry>, kWays> entries;
  };

  bool came_often(std::uint64_t key);

  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> seen_;  // a mark, and in its lowest bits how often it came
  std::uint32_t waste_ = 0;          // goes up with each reading that did not pay
  Counters counters_;
  std::size_t next_ = 0;  // which way makes room, where none is free
  char folded_[LineReading::kLongest];
};

}  // namespace logarithm
