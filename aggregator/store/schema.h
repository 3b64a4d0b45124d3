#pragma once

#include <string>
#include <vector>

#include "aggregator/store/sqlite.h"

// Numbered migrations; `user_version` says how many a file has had. The tables are described in
// README.md. A file of a newer program is Error{unavailable}: it is left alone.
namespace logarithm::aggregator {

inline constexpr int kShardSchema = 3;
inline constexpr int kCatalogueSchema = 2;

// Runs what a database has not had of `migrations` (oldest first), all in one transaction: after an
// Error it is what it was.
Status migrate(BlockingToken&, Database& database, const std::vector<std::string>& migrations);

Status migrate_shard(BlockingToken&, Database& database);
Status migrate_catalogue(BlockingToken&, Database& database);

}  // namespace logarithm::aggregator
