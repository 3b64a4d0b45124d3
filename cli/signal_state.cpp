#include "cli/signal_state.h"

namespace logarithm::cli {

SignalState SignalState::capture() {
  SignalState out;
  for (int number = 1; number < static_cast<int>(out.ignored.size()); ++number) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) != 0) continue;
    out.ignored[static_cast<std::size_t>(number)] = now.sa_handler == SIG_IGN;
  }
  ::sigprocmask(SIG_BLOCK, nullptr, &out.mask);
  return out;
}

void SignalState::restore() const {
  for (int number = 1; number < static_cast<int>(ignored.size()); ++number) {
    ::signal(number, ignored[static_cast<std::size_t>(number)] ? SIG_IGN : SIG_DFL);
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

}  // namespace logarithm::cli
