#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"

namespace logarithm::agent {

// One record of /dev/kmsg: "6,339,5140900,-;NET: Registered\n SUBSYSTEM=net\n".
struct KernelRecord {
  unsigned level = 0;     // 0 (emergency) to 7 (debug)
  unsigned facility = 0;  // 0: the kernel itself
  std::uint64_t sequence = 0;
  std::uint64_t micros = 0;  // since the boot
  bool fragment = false;     // goes on with the line of the record before
  std::string message;
  std::vector<std::pair<std::string, std::string>> facts;  // SUBSYSTEM, DEVICE
};

// Error{invalid} for anything else. Pure.
Result<KernelRecord> parse_kernel_record(std::string_view bytes);

// "kern", "user", …; a number beyond those that have a name.
std::string facility_name(unsigned facility);

}  // namespace logarithm::agent
