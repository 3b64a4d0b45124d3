#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "common/base/types.h"
#include "tests/support/temp_dir.h"

namespace logarithm::test {

// A made-up /proc. Descriptors are ordinary symbolic links: to real files, or dangling ones such as
// "pipe:[7]".
class FakeProc {
 public:
  static constexpr UnixNanos kBoot = 1'700'000'000'000'000'000;
  static constexpr UnixNanos kTick = 10'000'000;

  struct Process {
    std::int32_t pid = 0;
    std::int32_t parent = 1;
    std::uint64_t start_ticks = 1000;
    std::map<std::string, std::string> environment = {};
    std::map<int, std::string> fds = {};
    std::vector<std::string> command = {"python3", "train.py"};
    std::string name = "python3";
    std::string cgroup = "0::/user.slice\n";
    char state = 'S';
    std::uint64_t image = 0;     // where the stack lies: moves with exec; 0: not told
    std::int32_t inner_pid = 0;  // in a pid namespace of its own
  };

  FakeProc() {
    write("stat", "cpu 1 2 3\nbtime " + std::to_string(kBoot / 1'000'000'000) + "\n");
    set_last_pid(1);
  }

  const std::string& root() const { return dir_.path(); }

  void set_last_pid(std::int32_t pid) {
    last_pid_ = pid;
    write("loadavg", "0.10 0.20 0.30 1/234 " + std::to_string(pid) + "\n");
  }

  // Makes or replaces a process.
  void put(const Process& process) {
    const std::string pid = std::to_string(process.pid);
    std::filesystem::remove_all(dir_.file(pid));
    std::filesystem::create_directories(dir_.file(pid + "/fd"));
    write(pid + "/stat",
          pid + " (" + process.name + ") " + process.state + " " + std::to_string(process.parent) +
              " 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 " + std::to_string(process.start_ticks) +
              " 1000 100" + (process.image == 0 ? "" : image_fields(process.image)) + "\n");
    std::string environment;
    for (const auto& [name, value] : process.environment) {
      environment += name + "=" + value + '\0';
    }
    write(pid + "/environ", environment);
    std::string command;
    for (const std::string& word : process.command) command += word + '\0';
    write(pid + "/cmdline", command);
    write(pid + "/cgroup", process.cgroup);
    write(pid + "/status",
          "Name:\tpython3\nUid:\t0\t0\t0\t0\nNSpid:\t" + pid +
              (process.inner_pid == 0 ? "" : "\t" + std::to_string(process.inner_pid)) + "\n");
    for (const auto& [number, target] : process.fds) {
      std::filesystem::create_symlink(target, dir_.file(pid + "/fd/" + std::to_string(number)));
    }
    if (process.pid > last_pid_) set_last_pid(process.pid);
  }

  void remove(std::int32_t pid) { std::filesystem::remove_all(dir_.file(std::to_string(pid))); }

  void write(const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories(std::filesystem::path(dir_.file(name)).parent_path());
    std::ofstream(dir_.file(name), std::ios::binary) << bytes;
  }

 private:
  // Fields 25 to 50 of stat.
  static std::string image_fields(std::uint64_t image) {
    std::string out = " 1 1 1 " + std::to_string(image);
    for (int field = 29; field < 50; ++field) out += " 0";
    return out + " " + std::to_string(image + 64);
  }

  TempDir dir_;
  std::int32_t last_pid_ = 0;
};

}  // namespace logarithm::test
