#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/async/blocking.h"

namespace logarithm::agent {

// Counts the writes (and truncations) of a few files exactly, by anyone, mapped memory excepted.
//
// An inotify queue merges an event with an equal one before it. Here each file is watched together
// with its directory on one descriptor: a write makes two different events, so none is merged. That
// costs the writer some 0.5 µs a write: only for the moments in which a rotation may be under way.
//
// File thread only.
class WriteCounter {
 public:
  WriteCounter() = default;
  ~WriteCounter();
  WriteCounter(const WriteCounter&) = delete;
  WriteCounter& operator=(const WriteCounter&) = delete;

  // Counts from now on; `path` has no symbolic link in it. False when the kernel refuses, or
  // kMostFiles are watched already.
  bool watch(const std::string& path);
  void forget(const std::string& path);
  bool empty() const { return files_.empty(); }
  // Events of all files of the directories since the last call: what the counting costs. Many, when
  // somebody writes whom we do not follow, or faster than was known.
  std::uint64_t take_events() { return std::exchange(events_, 0); }
  bool is_flooded() const { return events_ > kMostEvents; }
  static constexpr std::uint64_t kMostEvents = 30'000;  // between two calls of take_events()

  // What came since the last call, by path; files without events are not in it. nullopt: events
  // were lost, or merged because the writer reaches the file through another directory. Never
  // waits.
  using Counts = std::unordered_map<std::string, std::optional<std::uint64_t>>;
  Counts take();
  // Waits for a write, to any file of the directories, at most this long.
  void wait(BlockingToken& token, std::chrono::milliseconds longest);

  static constexpr std::size_t kMostFiles = 64;

 private:
  void close();

  struct File {
    int watch = -1, folder = -1;
    std::uint64_t own = 0, named = 0;  // events of the file's watch, and of the directory's
    std::uint64_t fresh = 0;           // of `own`, since the last take()
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };
  // Hashed: each write of a counted file looks it up.
  using Names = std::unordered_map<std::string, File*, Hash, std::equal_to<>>;

  int fd_ = -1;
  std::uint64_t events_ = 0;
  std::unordered_map<std::string, File> files_;  // by path
  std::unordered_map<int, std::pair<const std::string, File>*> by_watch_;
  std::unordered_map<int, Names> by_folder_;  // watch of a directory -> its counted files
};

}  // namespace logarithm::agent
