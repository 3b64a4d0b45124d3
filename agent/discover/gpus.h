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

// Which of the devices that a process holds are its own. Many open all of a host's: then the
// variable CUDA_VISIBLE_DEVICES tells (`visible`, empty: not set), and where it holds those of all
// local ranks, the entry of its local rank. Entries are device numbers or (abbreviated) UUIDs.
std::vector<Gpu> own_gpus(std::vector<Gpu> held, std::string_view visible,
                          std::optional<std::int32_t> local_rank);

// What the NVIDIA driver says in <root>/driver/nvidia/gpus/*/information, by device number. Read
// once, when the first process holds a GPU. File thread only.
class GpuTable {
 public:
  Gpu describe(BlockingToken&, const ProcFs& fs, std::int32_t index);

 private:
  std::optional<std::map<std::int32_t, Gpu>> known_;
};

}  // namespace logarithm::agent
