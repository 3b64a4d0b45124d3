#pragma once

namespace logarithm::agent {

// Lets the jobs of this host go first wherever there is not enough CPU for all: a nice value, for
// the threads that are made from here on, and for the session where the kernel weighs sessions
// instead of processes (autogroup), if it is ours alone. A service manager may forbid both: it
// weighs us itself.
void give_way();

}  // namespace logarithm::agent
