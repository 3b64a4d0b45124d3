#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

// Several encoded frames as one message: a message costs both ends as much as some hundred lines.
// Only for a peer that has said that it reads them (Hello::batches, Welcome::batches); byte table:
// common/wire/README.md. Pure: no I/O.
namespace logarithm::wire {

// What a batch is filled up to; a frame that is larger travels alone.
inline constexpr std::size_t kBatchBytes = 256u << 10;

// No frame of its own: it means what its frames mean, one after the other.
bool is_batch(std::string_view message);
std::string encode_batch(const std::vector<std::string>& frames);
// The frames, as views into `message`; none is a batch. Error{corrupt} for a damaged message.
Result<std::vector<std::string_view>> decode_batch(std::string_view message);

}  // namespace logarithm::wire
