#include "agent/discover/own_names.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <unistd.h>

#include <memory>

namespace logarithm::agent {

std::vector<std::string> own_names() {
  std::vector<std::string> out;
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0) {
    out.emplace_back(name);
    const std::size_t dot = out.front().find('.');
    if (dot != std::string::npos) out.push_back(out.front().substr(0, dot));
  }
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return out;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const bool v4 = one->ifa_addr->sa_family == AF_INET;
    if (!v4 && one->ifa_addr->sa_family != AF_INET6) continue;
    const socklen_t size = v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    char text[NI_MAXHOST] = {};
    if (::getnameinfo(one->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0) {
      const std::string address(text);
      out.push_back(address.substr(0, address.find('%')));
    }
  }
  return out;
}

}  // namespace logarithm::agent
