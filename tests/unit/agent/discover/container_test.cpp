#include "agent/discover/container.h"

#include <doctest/doctest.h>

namespace logarithm::agent {
namespace {

TEST_CASE("Container: it is known by 64 hex digits in the cgroup path") {
  const std::string id(64, 'a');
  CHECK(container_id("0::/kubepods/pod5f0c/" + id) == id);
  CHECK(container_id("0::/system.slice/docker-" + id + ".scope\n") == id);
  CHECK(container_id("0::/user.slice\n").empty());
  CHECK(container_id(id + "a").empty());
}

TEST_CASE("Container: a pod's uid is in the path, with either driver") {
  const std::string uid = "0a1b2c3d-1111-2222-3333-444455556666";
  const std::string id(64, 'b');
  CHECK(pod_uid("0::/kubepods/burstable/pod" + uid + "/" + id + "\n") == uid);
  CHECK(pod_uid("0::/kubepods.slice/kubepods-besteffort.slice/"
                "kubepods-besteffort-pod0a1b2c3d_1111_2222_3333_444455556666.slice/"
                "cri-containerd-" +
                id + ".scope\n") == uid);
  CHECK(pod_uid("12:cpu:/kubepods/pod" + uid + "/" + id + "\n0::/x\n") == uid);
  const std::string plain(32, 'c');  // of a static pod
  CHECK(pod_uid("0::/kubepods/pod" + plain + "/" + id) == plain);
}

TEST_CASE("Container: nothing else is taken for a pod") {
  const std::string id(64, 'b');
  CHECK(pod_uid("0::/machine.slice/libpod-" + id + ".scope\n").empty());
  CHECK(pod_uid("0::/kubepods/podx/" + id).empty());
  CHECK(pod_uid("0::/user.slice/pod0a1b2c3d-1111-2222-3333-444455556666/x").empty());
  CHECK(pod_uid("").empty());
}

}  // namespace
}  // namespace logarithm::agent
