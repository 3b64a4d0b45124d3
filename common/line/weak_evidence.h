#pragma once

#include <cstdint>

#include "common/line/unwrap.h"

namespace logarithm {

// Whether a stream bears a weak wrapper: when its first 20 lines all do. Fewer are enough, but at
// least two, when the stream ends or a second passes.
struct WeakEvidence {
  enum class Verdict : std::uint8_t { open = 0, accepted = 1, refused = 2 };
  static constexpr std::uint8_t kEnough = 20, kLeast = 2;

  Verdict verdict = Verdict::open;
  WeakWrapper kind = WeakWrapper::none;
  std::uint8_t seen = 0;  // lines that bore `kind`, and none that did not

  bool open() const { return verdict == Verdict::open; }
  WeakWrapper accepted() const { return verdict == Verdict::accepted ? kind : WeakWrapper::none; }

  // The next line, and which weak wrapper it bears.
  void note(WeakWrapper found) {
    if (!open()) return;
    if (found == WeakWrapper::none || (seen > 0 && found != kind)) {
      verdict = Verdict::refused;
      return;
    }
    kind = found;
    if (++seen >= kEnough) verdict = Verdict::accepted;
  }
  // Lines must not wait any longer. One alone proves nothing: the next may.
  void settle() {
    if (open() && seen >= kLeast) verdict = Verdict::accepted;
  }
};

}  // namespace logarithm
