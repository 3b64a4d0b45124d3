#pragma once

#include <string>
#include <string_view>

// What /proc/PID/cgroup says about where a process runs.
namespace logarithm::agent {

// The 64 hex digits by which a container runtime names a container; empty when there are none.
std::string container_id(std::string_view cgroup);

// The uid of a Kubernetes pod: "…/kubepods/burstable/pod<uid>/…" (cgroupfs) and
// "…-pod<uid with underscores>.slice" (systemd). Empty when there is none.
std::string pod_uid(std::string_view cgroup);

}  // namespace logarithm::agent
