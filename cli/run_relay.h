#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace logarithm::cli {

// Shows what is written to a file: copies it, byte by byte the same, to a descriptor, on a thread
// of its own. It looks at the file now and then instead of being told, so that whoever writes there
// pays nothing for being watched; between looks are 5 to 40 ms, behind a busy writer 15 ms.
class Relay {
 public:
  // `source` and `target` are borrowed. `broken` is called once, on the thread, when nobody reads
  // the target any more.
  Relay(int source, int target, std::function<void()> broken);
  ~Relay() { finish(); }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Copies what the file holds now, then ends. Waits for it: as long as the target takes.
  void finish();
  // After finish(): how far it came, and whether somebody read it.
  std::uint64_t position() const { return position_; }
  bool is_broken() const { return is_broken_; }
  int source() const { return source_; }
  int target() const { return target_; }

 private:
  void run();
  bool copy_some();

  const int source_, target_;
  const std::function<void()> broken_;
  std::string buffer_;
  std::uint64_t position_ = 0;
  bool is_broken_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool finishing_ = false;
  std::uint64_t end_ = UINT64_MAX;
  std::thread thread_;
};

// True while a process holds the file open that got it from whoever locked it (LOCK_SH).
bool is_held(int file);

// What is written behind `position` of `source`, shown at `target`.
struct Rest {
  int source = -1, target = -1;
  std::uint64_t position = 0;
};
// Shows it until nobody holds the file any more, or nobody reads. Blocks.
void show_rest(std::vector<Rest> rests);

}  // namespace logarithm::cli
