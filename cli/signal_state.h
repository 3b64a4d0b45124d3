#pragma once

#include <array>
#include <csignal>

namespace logarithm::cli {

// What this program inherited, before it set anything of its own: what a program that it starts in
// its own place is to inherit too.
struct SignalState {
  std::array<bool, 65> ignored{};  // by number
  sigset_t mask{};

  static SignalState capture();
  // In a child, before exec: async-signal-safe.
  void restore() const;
};

}  // namespace logarithm::cli
