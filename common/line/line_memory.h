#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/line/line_reading.h"

namespace logarithm {

// Readings by the shape of a whole line (see digit_shape.h), for all streams of a thread. Of a
// fixed size: a shape takes a place when it comes a second time, and then that of one which came
// earlier.
class LineMemory {
 public:
  // What a line was looked for by.
  struct Shape {
    std::uint64_t key = 0, context = 0;
    std::string_view text;  // valid until the next find()
    bool worth_it = false;  // nothing is known, and it came before: put() is worth its cost
  };

  LineMemory() : buckets_(kBuckets), seen_(kSeen) {}

  // A reading that holds for `line` (at most LineReading::kLongest bytes), and the header it gives;
  // null where none does. `context` is what else decides: rules, stream, mode.
  const LineReading* find(std::string_view line, std::uint64_t context, Shape& shape,
                          LogHeader& header);
  // Nullopt: lines of this shape have none.
  void put(const Shape& shape, std::optional<LineReading> reading);

 private:
  static constexpr std::size_t kWays = 4, kBuckets = 1024, kSeen = 16384;

  struct Entry {
    std::uint64_t context = 0;
    std::optional<LineReading> reading;
    std::string shape;
  };
  struct alignas(64) Bucket {  // one line of the processor's cache
    std::array<std::uint64_t, kWays> keys{};
    std::array<std::unique_ptr<Entry>, kWays> entries;
  };

  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> seen_;
  std::size_t next_ = 0;  // which way makes room, where none is free
  char folded_[LineReading::kLongest];
};

}  // namespace logarithm
