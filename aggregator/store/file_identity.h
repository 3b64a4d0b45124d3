#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/async/blocking.h"
#include "common/base/result.h"

namespace logarithm::aggregator {

// Which file lies under a name, to notice that an open database was unlinked or replaced: SQLite
// goes on writing to a file that nobody will ever find.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// nullopt: nothing lies there. An Error says that nobody can tell now.
Result<std::optional<FileIdentity>> identity_of(BlockingToken&, const std::string& path);

}  // namespace logarithm::aggregator
