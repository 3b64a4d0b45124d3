#include "agent/discover/gpus.h"

#include <doctest/doctest.h>

namespace logarithm::agent {
namespace {

const std::vector<Gpu> kFour = {{0, "GPU-aa11", "0000:1b:00"},
                                {1, "GPU-bb22", "0000:3b:00"},
                                {2, "GPU-cc33", "0000:5e:00"},
                                {3, "GPU-dd44", "0000:86:00"}};

std::vector<std::int32_t> own(const std::string& visible, std::optional<std::int32_t> local_rank,
                              const std::vector<Gpu>& held = kFour) {
  std::vector<std::int32_t> out;
  for (const Gpu& gpu : own_gpus(held, visible, local_rank)) out.push_back(gpu.index);
  return out;
}

TEST_CASE("GPUs: one that is held alone is the process's, whatever the variable says") {
  CHECK(own("0,1,2,3", 1, {kFour[2]}) == std::vector<std::int32_t>{2});
  CHECK(own("0,1", 1, {}).empty());
}

TEST_CASE("GPUs: where all are open, the variable tells, by number or by UUID") {
  CHECK(own("2", 0) == std::vector<std::int32_t>{2});
  CHECK(own("2", std::nullopt) == std::vector<std::int32_t>{2});
  CHECK(own("GPU-dd", 0) == std::vector<std::int32_t>{3});
  CHECK(own("3,1", std::nullopt) == std::vector<std::int32_t>{3, 1});
}

TEST_CASE("GPUs: of the devices of all local ranks the local rank's entry is meant") {
  CHECK(own("0,1,2,3", 2) == std::vector<std::int32_t>{2});
  CHECK(own("3,2,1,0", 1) == std::vector<std::int32_t>{2});
  CHECK(own("GPU-cc33,GPU-aa11", 1) == std::vector<std::int32_t>{0});
}

TEST_CASE("GPUs: what the variable cannot tell stays as it is") {
  const std::vector<std::int32_t> all = {0, 1, 2, 3};
  CHECK(own("", 1) == all);
  CHECK(own("0,1", 5) == all);
  CHECK(own("7", 0) == all);
  CHECK(own("NoDevFiles", 0) == all);
  CHECK(own("MIG-1234", 0) == all);
  CHECK(own(",,", 1) == all);
}

}  // namespace
}  // namespace logarithm::agent
