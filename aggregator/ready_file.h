#pragma once

#include <string>

#include "common/base/result.h"

namespace logarithm::aggregator {

// Writes "address\n" to `file` at once (temporary file, rename): who reads it sees all of it.
Status write_ready_file(const std::string& file, const std::string& address);
void remove_ready_file(const std::string& file);

}  // namespace logarithm::aggregator
