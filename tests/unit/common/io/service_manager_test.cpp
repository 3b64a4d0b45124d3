#include "common/io/service_manager.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/support/temp_dir.h"

using logarithm::ServiceManager;

namespace {

// What systemd's end of NOTIFY_SOCKET is.
class Manager {
 public:
  explicit Manager(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), size) == 0);
  }
  ~Manager() { ::close(fd_); }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  std::string next() {
    char buffer[256];
    const auto got = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    return got < 0 ? std::string() : std::string(buffer, static_cast<std::size_t>(got));
  }

 private:
  int fd_;
};

}  // namespace

TEST_CASE("Service manager: a state reaches the socket, by path and by abstract name") {
  const logarithm::test::TempDir dir;
  const std::string abstract = "@logarithm-test-" + std::to_string(::getpid());
  for (const std::string& name : {dir.path() + "/notify", abstract}) {
    Manager manager(name);
    const ServiceManager service(name, std::nullopt);
    CHECK(service.notify("READY=1\nSTATUS=collecting"));
    CHECK(manager.next() == "READY=1\nSTATUS=collecting");
    CHECK(manager.next().empty());
  }
}

TEST_CASE("Service manager: without a socket, or with a dead one, nothing happens") {
  const logarithm::test::TempDir dir;
  CHECK_FALSE(ServiceManager("", std::nullopt).notify("READY=1"));
  CHECK_FALSE(ServiceManager(dir.path() + "/nobody", std::nullopt).notify("READY=1"));
  CHECK_FALSE(ServiceManager(std::string(300, 'x'), std::nullopt).notify("READY=1"));
}

TEST_CASE("Service manager: the watchdog is fed at half of its time, by the watched process only") {
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  CHECK(ServiceManager::from_environment().watchdog_period() == std::chrono::microseconds(1500000));
  ::setenv("WATCHDOG_PID", "1", 1);
  CHECK_FALSE(ServiceManager::from_environment().watchdog_period());
  ::unsetenv("WATCHDOG_PID");
  ::setenv("WATCHDOG_USEC", "soon", 1);
  CHECK_FALSE(ServiceManager::from_environment().watchdog_period());
  ::unsetenv("WATCHDOG_USEC");
  CHECK_FALSE(ServiceManager::from_environment().watchdog_period());
}
