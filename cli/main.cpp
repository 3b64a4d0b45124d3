#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "common/base/logging.h"

namespace {

// How wide the terminal is that stdout is; when it is none, what COLUMNS says, else 80.
std::size_t columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return size.ws_col;
  const char* text = std::getenv("COLUMNS");
  const long stated = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return stated >= 20 && stated <= 1000 ? static_cast<std::size_t>(stated) : 80;
}

}  // namespace

int main(int argc, char** argv) {
  logarithm::cli::Options options;
  options.signals = logarithm::cli::SignalState::capture();
  // A reader of our output that goes away is a failed write, not the end: there may be programs to
  // stop and files to remove.
  std::signal(SIGPIPE, SIG_IGN);
  logarithm::init_logging(false);
  options.terminal = ::isatty(STDERR_FILENO) == 1;
  options.shown = ::isatty(STDOUT_FILENO) == 1;
  options.colour = options.shown && std::getenv("NO_COLOR") == nullptr;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    options.environment.emplace_back(*entry);
  }
  options.columns = columns();
  std::error_code unknown;
  options.programs =
      std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path().string();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return logarithm::cli::run_command_line(arguments, std::move(options));
}
