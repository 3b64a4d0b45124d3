#include "cli/run_relay.h"

#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace logarithm::cli {
namespace {

constexpr std::size_t kPiece = 256u << 10;
constexpr std::chrono::milliseconds kShortPause(5), kLongPause(40);
// Behind a command that writes without a pause it takes what came in so long, not each line: then
// it costs a few looks, and reads whole pieces.
constexpr std::chrono::milliseconds kPace(15);
constexpr int kNice = 10;  // the command comes first

std::uint64_t size_of(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

bool write_all(int target, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::write(target, bytes, size);
    if (sent >= 0) {
      bytes += sent;
      size -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      struct pollfd ready = {target, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

// Copies one piece from `position` on, of what is before `end`. False when the target is broken.
bool copy_piece(int source, int target, std::string& buffer, std::uint64_t& position,
                std::uint64_t end) {
  if (position >= end) return true;
  const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, end - position));
  const ssize_t got = ::pread(source, buffer.data(), want, static_cast<off_t>(position));
  if (got > 0) {
    position += static_cast<std::uint64_t>(got);
    return write_all(target, buffer.data(), static_cast<std::size_t>(got));
  }
  // Somebody emptied the file under us: what is written from now on is new.
  if (got == 0) position = std::min(position, size_of(source));
  return true;
}

}  // namespace

Relay::Relay(int source, int target, std::function<void()> broken)
    : source_(source), target_(target), broken_(std::move(broken)), buffer_(kPiece, '\0') {
  thread_ = std::thread([this] { run(); });
}

void Relay::finish() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    finishing_ = true;
    end_ = size_of(source_);
  }
  wake_.notify_all();
  thread_.join();
}

void Relay::run() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  auto pause = kShortPause;
  while (true) {
    std::unique_lock lock(mutex_);
    const bool last = finishing_;
    lock.unlock();
    const std::uint64_t before = position_;
    if (!copy_some()) {
      is_broken_ = true;
      return broken_();
    }
    const std::uint64_t moved = position_ - std::min(before, position_);
    // All that was there when finish() was called; less only if it was cut short meanwhile.
    if (last && position_ == before) return;
    if (moved == kPiece || last) continue;
    pause = moved > 0 ? kShortPause : std::min(pause * 2, kLongPause);
    lock.lock();
    wake_.wait_for(lock, moved > 0 ? kPace : pause, [&] { return finishing_; });
  }
}

// False when the target is broken.
bool Relay::copy_some() {
  std::uint64_t end = UINT64_MAX;
  {
    std::lock_guard lock(mutex_);
    end = end_;
  }
  return copy_piece(source_, target_, buffer_, position_, end);
}

bool is_held(int file) {
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  ::flock(file, LOCK_UN);
  return false;
}

void show_rest(std::vector<Rest> rests) {
  std::string buffer(kPiece, '\0');
  auto pause = kShortPause;
  while (!rests.empty()) {
    bool moved = false;
    std::erase_if(rests, [&](Rest& rest) {
      // Asked first: what was written before the last writer left is still shown.
      const bool last = !is_held(rest.source);
      const std::uint64_t before = rest.position;
      if (!copy_piece(rest.source, rest.target, buffer, rest.position, UINT64_MAX)) return true;
      moved = moved || rest.position != before;
      return last && rest.position == before;
    });
    pause = moved ? kShortPause : std::min(pause * 2, kLongPause);
    if (!moved) ::poll(nullptr, 0, static_cast<int>(pause.count()));
  }
}

}  // namespace logarithm::cli
