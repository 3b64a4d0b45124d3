#include "agent/give_way.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "common/base/logging.h"

namespace logarithm::agent {
namespace {

constexpr int kNice = 10;  // as the unit has it: a tenth of what others get

}  // namespace

void give_way() {
  if (::getpriority(PRIO_PROCESS, 0) < kNice && ::setpriority(PRIO_PROCESS, 0, kNice) != 0) {
    LGR_DEBUG("no nice value of our own");
  }
  // A shell's session holds the job, too: whoever started us there weighs us against it.
  if (::getsid(0) != ::getpid()) return;
  std::ofstream group("/proc/self/autogroup");
  if (!(group << kNice << std::flush)) LGR_DEBUG("no nice value for the session");
}

}  // namespace logarithm::agent
