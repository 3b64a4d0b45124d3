#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "aggregator/store/sqlite.h"

namespace logarithm::aggregator {

// Idle read-only connections to one part. Thread-safe; shared with the snapshots that took one.
class ReaderPool : public std::enable_shared_from_this<ReaderPool> {
 public:
  static constexpr std::size_t kIdle = 4;

  explicit ReaderPool(std::string path) : path_(std::move(path)) {}

  // A connection inside a read transaction: it sees one state until it is given back.
  Result<std::unique_ptr<Database>> take(BlockingToken& token) {
    std::unique_ptr<Database> reader;
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        reader = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (reader == nullptr) {
      Database::Options options;
      options.read_only = true;
      LGR_TRY(reader, Database::open(token, path_, options));
    }
    LGR_CHECK(reader->run(token, "BEGIN"));
    // A deferred transaction begins with its first read.
    LGR_CHECK(reader->run(token, "SELECT value FROM meta WHERE key='commit'"));
    return reader;
  }

  // Ends the transaction; of a reader that changed nothing this does not block.
  void give_back(std::unique_ptr<Database> reader) {
    if (reader == nullptr || !reader->end_read().ok()) return;
    std::lock_guard lock(mutex_);
    if (idle_.size() < kIdle) idle_.push_back(std::move(reader));
  }

 private:
  std::string path_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Database>> idle_;
};

}  // namespace logarithm::aggregator
