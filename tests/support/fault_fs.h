#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/io/file_system.h"

namespace logarithm::test {

// Passes everything on to another file system, but fails the N-th operation (counted from arm()).
// A failing append writes half of its bytes first. Loop N = 0, 1, 2… until fired() stays false:
// then every failure point has run.
class FaultFs final : public FileSystem {
 public:
  explicit FaultFs(FileSystem& below) : state_{below, -1, 0, false, ErrorCode::io} {}

  void arm(std::int64_t nth, ErrorCode code = ErrorCode::io) {
    state_.nth = nth;
    state_.count = 0;
    state_.fired = false;
    state_.code = code;
  }
  void disarm() { state_.nth = -1; }
  bool fired() const { return state_.fired; }

  Result<std::unique_ptr<File>> open_append(BlockingToken& t, const std::string& path) override {
    if (state_.fail()) return state_.error("open");
    return wrap(state_.below.open_append(t, path));
  }
  Result<std::unique_ptr<File>> open_read(BlockingToken& t, const std::string& path) override {
    if (state_.fail()) return state_.error("open");
    return wrap(state_.below.open_read(t, path));
  }
  Result<std::vector<std::string>> list(BlockingToken& t, const std::string& d) override {
    if (state_.fail()) return state_.error("list");
    return state_.below.list(t, d);
  }
  Status rename(BlockingToken& t, const std::string& from, const std::string& to) override {
    if (state_.fail()) return state_.error("rename");
    return state_.below.rename(t, from, to);
  }
  Status remove(BlockingToken& t, const std::string& path) override {
    if (state_.fail()) return state_.error("remove");
    return state_.below.remove(t, path);
  }
  Status sync_dir(BlockingToken& t, const std::string& directory) override {
    if (state_.fail()) return state_.error("sync_dir");
    return state_.below.sync_dir(t, directory);
  }
  Result<std::uint64_t> free_bytes(BlockingToken& t, const std::string& directory) override {
    if (state_.fail()) return state_.error("free_bytes");
    return state_.below.free_bytes(t, directory);
  }
  Status make_dir(BlockingToken& t, const std::string& path) override {
    if (state_.fail()) return state_.error("make_dir");
    return state_.below.make_dir(t, path);
  }
  Result<std::unique_ptr<File>> lock(BlockingToken& t, const std::string& path) override {
    if (state_.fail()) return state_.error("lock");
    return state_.below.lock(t, path);
  }

 private:
  struct State {
    FileSystem& below;
    std::int64_t nth, count;
    bool fired;
    ErrorCode code;
    bool fail() {
      if (nth < 0 || count++ != nth) return false;
      return fired = true;
    }
    Error error(const char* what) const { return Error(code, std::string("fault: ") + what); }
  };

  class FaultFile final : public File {
   public:
    FaultFile(State& state, std::unique_ptr<File> below)
        : state_(state), below_(std::move(below)) {}
    Status append(BlockingToken& t, std::string_view bytes) override {
      if (state_.fail()) {
        static_cast<void>(below_->append(t, bytes.substr(0, bytes.size() / 2)));
        return state_.error("append");
      }
      return below_->append(t, bytes);
    }
    Result<std::string> read_at(BlockingToken& t, std::uint64_t offset, std::size_t n) override {
      if (state_.fail()) return state_.error("read");
      return below_->read_at(t, offset, n);
    }
    Status sync(BlockingToken& t) override {
      if (state_.fail()) return state_.error("sync");
      return below_->sync(t);
    }
    Status truncate(BlockingToken& t, std::uint64_t size) override {
      if (state_.fail()) return state_.error("truncate");
      return below_->truncate(t, size);
    }
    Result<std::uint64_t> size(BlockingToken& t) override {
      if (state_.fail()) return state_.error("size");
      return below_->size(t);
    }

   private:
    State& state_;
    std::unique_ptr<File> below_;
  };

  Result<std::unique_ptr<File>> wrap(Result<std::unique_ptr<File>> opened) {
    if (!opened.ok()) return opened.error();
    return std::unique_ptr<File>(std::make_unique<FaultFile>(state_, std::move(*opened)));
  }

  State state_;
};

}  // namespace logarithm::test
