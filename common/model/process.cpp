#include "common/model/process.h"

namespace logarithm {

std::string ProcessInfo::key() const {
  return host + "/" + std::to_string(pid) + "/" + std::to_string(start);
}

}  // namespace logarithm
