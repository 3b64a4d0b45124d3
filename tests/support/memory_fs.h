#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/io/file_system.h"

namespace logarithm::test {

// Files in memory that know what is durable: crash() gives back what a power cut would leave, i.e.
// synced bytes of files whose directory entry was synced. Single-threaded at a time.
class MemoryFs final : public FileSystem {
 public:
  struct Node {
    std::string bytes;
    std::string synced;
  };
  using NodePtr = std::shared_ptr<Node>;

  // Drops everything that was not synced. Open files stay usable but lead nowhere.
  void crash() {
    std::map<std::string, NodePtr> names;
    for (const auto& [path, node] : durable_) {
      auto copy = std::make_shared<Node>();
      copy->bytes = copy->synced = node->synced;
      names[path] = copy;
    }
    names_ = names;
    durable_ = names;
    locks_.clear();
  }
  // As a kill of the process: everything written stays, locks are gone.
  void kill() { locks_.clear(); }

  std::string* bytes(const std::string& path) {
    const auto found = names_.find(path);
    return found == names_.end() ? nullptr : &found->second->bytes;
  }
  // A bit of the medium turns over (`at` modulo the size); no power cut gives it back.
  void flip(const std::string& path, std::uint64_t at, std::uint64_t bit) {
    Node& node = *names_.at(path);
    if (node.bytes.empty()) return;
    const std::size_t place = static_cast<std::size_t>(at % node.bytes.size());
    const auto turned = [&](char byte) { return static_cast<char>(byte ^ (1 << bit)); };
    node.bytes[place] = turned(node.bytes[place]);
    if (place < node.synced.size()) node.synced[place] = turned(node.synced[place]);
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> out;
    for (const auto& [path, node] : names_) out.push_back(path);
    return out;
  }
  void set_free(std::uint64_t bytes) { free_ = bytes; }

  Result<std::unique_ptr<File>> open_append(BlockingToken&, const std::string& path) override {
    NodePtr& node = names_[path];
    if (node == nullptr) node = std::make_shared<Node>();
    return std::unique_ptr<File>(std::make_unique<MemoryFile>(node));
  }
  Result<std::unique_ptr<File>> open_read(BlockingToken&, const std::string& path) override {
    const auto found = names_.find(path);
    if (found == names_.end()) return Error(ErrorCode::not_found, path);
    return std::unique_ptr<File>(std::make_unique<MemoryFile>(found->second));
  }
  Result<std::vector<std::string>> list(BlockingToken&, const std::string& directory) override {
    std::vector<std::string> out;
    const std::string prefix = directory + "/";
    for (const auto& [path, node] : names_) {
      if (path.starts_with(prefix)) out.push_back(path.substr(prefix.size()));
    }
    return out;
  }
  Status rename(BlockingToken&, const std::string& from, const std::string& to) override {
    const auto found = names_.find(from);
    if (found == names_.end()) return Error(ErrorCode::not_found, from);
    names_[to] = found->second;
    names_.erase(from);
    return {};
  }
  Status remove(BlockingToken&, const std::string& path) override {
    if (names_.erase(path) == 0) return Error(ErrorCode::not_found, path);
    return {};
  }
  Status sync_dir(BlockingToken&, const std::string& directory) override {
    const std::string prefix = directory + "/";
    std::erase_if(durable_, [&](const auto& entry) { return entry.first.starts_with(prefix); });
    for (const auto& [path, node] : names_) {
      if (path.starts_with(prefix)) durable_[path] = node;
    }
    return {};
  }
  Result<std::uint64_t> free_bytes(BlockingToken&, const std::string&) override { return free_; }
  Status make_dir(BlockingToken&, const std::string&) override { return {}; }
  Result<std::unique_ptr<File>> lock(BlockingToken&, const std::string& path) override {
    auto held = locks_[path].lock();
    if (held != nullptr) return Error(ErrorCode::conflict, path + " is locked");
    auto node = std::make_shared<Node>();
    locks_[path] = node;
    return std::unique_ptr<File>(std::make_unique<MemoryFile>(node));
  }

 private:
  class MemoryFile final : public File {
   public:
    explicit MemoryFile(NodePtr node) : node_(std::move(node)) {}
    Status append(BlockingToken&, std::string_view bytes) override {
      node_->bytes.append(bytes);
      return {};
    }
    Result<std::string> read_at(BlockingToken&, std::uint64_t offset, std::size_t count) override {
      if (offset >= node_->bytes.size()) return std::string();
      return node_->bytes.substr(static_cast<std::size_t>(offset), count);
    }
    Status sync(BlockingToken&) override {
      node_->synced = node_->bytes;
      return {};
    }
    Status truncate(BlockingToken&, std::uint64_t size) override {
      node_->bytes.resize(static_cast<std::size_t>(size));
      return {};
    }
    Result<std::uint64_t> size(BlockingToken&) override { return node_->bytes.size(); }

   private:
    NodePtr node_;
  };

  std::map<std::string, NodePtr> names_, durable_;
  std::map<std::string, std::weak_ptr<Node>> locks_;
  std::uint64_t free_ = std::uint64_t{1} << 40;
};

}  // namespace logarithm::test
