#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/discover/proc_fs.h"
#include "common/model/process.h"

namespace logarithm::agent {

// 3 for "/dev/nvidia3"; nullopt for anything else ("/dev/nvidiactl").
std::optional<std::int32_t> nvidia_index(std::string_view link);

// What the NVIDIA driver says in <root>/driver/nvidia/gpus/*/information, by device number. Read
// once, when the first process holds a GPU. File thread only.
class GpuTable {
 public:
  Gpu describe(BlockingToken&, const ProcFs& fs, std::int32_t index);

 private:
  std::optional<std::map<std::int32_t, Gpu>> known_;
};

}  // namespace logarithm::agent
