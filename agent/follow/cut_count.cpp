#include "agent/follow/cut_count.h"

namespace logarithm::agent {
namespace {

constexpr std::uint64_t kMostPerLine = 4;  // print() with two pieces and an end, unbuffered
constexpr std::uint64_t kProof = 3;        // lines that must have agreed

}  // namespace

void CutCount::wrote(std::uint64_t events) {
  since_settled_.events += events;
  since_line_end_.events += events;
}

void CutCount::read(std::uint64_t bytes, std::uint64_t lines, bool line_end) {
  if (bytes == 0) return;
  for (Sums* sums : {&since_settled_, &since_line_end_}) {
    sums->bytes += bytes;
    sums->lines += lines;
  }
  at_line_end_ = line_end;
}

void CutCount::settled() {
  settled_ = true;
  since_settled_ = Sums();
  if (!at_line_end_) return;
  if (line_settled_ && since_line_end_.bytes + since_line_end_.events > 0) learn();
  line_settled_ = true;
  since_line_end_ = Sums();
}

// A write is seen in the size an instant before its event: such a portion lacks one, the next has
// one too many, and both are no proof of anything but that nothing may be concluded just now.
void CutCount::learn() {
  const auto [events, lines, bytes] = since_line_end_;
  if (per_line_ == 0 && lines > 0 && events % lines == 0 && events / lines <= kMostPerLine) {
    per_line_ = events / lines;
  }
  steady_ = per_line_ > 0 && events == per_line_ * lines;
  if (steady_) {
    proof_ += lines;
  } else {
    proof_ = per_line_ = 0;
  }
}

std::optional<std::uint64_t> CutCount::lost(std::uint64_t bytes, std::uint64_t lines,
                                            bool line_end) const {
  if (broken_ || !settled_ || since_settled_.events == 0) return std::nullopt;
  if (since_settled_.events == 1 && since_settled_.bytes == 0 && bytes == 0) return 0;
  if (!line_settled_ || !at_line_end_ || !line_end || !steady_ || proof_ < kProof) {
    return std::nullopt;
  }
  const std::uint64_t explained = 1 + per_line_ * (since_line_end_.lines + lines);
  if (since_line_end_.events < explained) return std::nullopt;
  const std::uint64_t writes = since_line_end_.events - explained;
  return (writes + per_line_ - 1) / per_line_;
}

}  // namespace logarithm::agent
