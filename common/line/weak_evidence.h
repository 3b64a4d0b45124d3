#pragma once

#include <cstdint>

#include "common/line/unwrap.h"

namespace logarithm {

// Whether a stream bears a weak wrapper: when its first 20 lines all do. Fewer are enough, but at
// least two, when the stream ends or a second passes. Hosts have to be several, of one name but for
// its digits; fewer than 20 lines are enough only where one of them came again.
struct WeakEvidence {
  enum class Verdict : std::uint8_t { open = 0, accepted = 1, refused = 2 };
  static constexpr std::uint8_t kEnough = 20, kLeast = 2;

  Verdict verdict = Verdict::open;
  WeakWrapper kind = WeakWrapper::none;
  std::uint8_t seen = 0;  // lines that bore `kind`, and none that did not
  // Of hosts: the first one, and what came behind it.
  std::uint32_t host = 0, stem = 0;
  bool others = false, again = false;

  bool open() const { return verdict == Verdict::open; }
  WeakWrapper accepted() const { return verdict == Verdict::accepted ? kind : WeakWrapper::none; }

  // The next line.
  void note(WeakSign found) {
    if (!open()) return;
    if (kind == WeakWrapper::host && found.kind == WeakWrapper::host_label) found.kind = kind;
    const bool hosts = found.kind == WeakWrapper::host;
    const bool differs = found.kind != kind || (hosts && found.stem != stem);
    if (found.kind == WeakWrapper::none || (seen > 0 && differs)) {
      verdict = Verdict::refused;
      return;
    }
    if (seen == 0) {
      kind = found.kind;
      host = hosts ? found.host : 0;
      stem = hosts ? found.stem : 0;
    } else if (hosts) {
      (found.host == host ? again : others) = true;
    }
    if (++seen >= kEnough) verdict = hosts && !others ? Verdict::refused : Verdict::accepted;
  }
  // Lines must not wait any longer. One alone proves nothing: the next may.
  void settle() {
    const bool proven = kind != WeakWrapper::host || (others && again);
    if (open() && seen >= kLeast && proven) verdict = Verdict::accepted;
  }
};

}  // namespace logarithm
