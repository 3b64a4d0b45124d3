#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/follow/source_fs.h"
#include "agent/follow/stream_writer.h"

// Where to go on with a file after a restart: from our own checkpoint, or from what the aggregator
// holds. Content only confirms or refutes; it never names a file.
namespace logarithm::agent {

// True when the file can be the one whose first bytes are `head` and of which `position` bytes were
// read, the last of them with this CRC (of min(256, position) bytes).
Result<bool> fits(BlockingToken& token, SourceFile& file, std::uint64_t size, std::string_view head,
                  std::uint64_t position, std::uint32_t tail_crc);

// A stored generation that a file continues, and where.
struct StoredChoice {
  StoredGeneration generation;
  std::uint64_t position = 0;
};
// The newest that fits; nullopt when none does.
Result<std::optional<StoredChoice>> choose_stored(BlockingToken& token, SourceFile& file,
                                                  std::uint64_t size,
                                                  const std::vector<StoredGeneration>& stored);

// A writer at the checkpoint's position, with the parser state of the checkpoint; when that is
// missing or unreadable it is rebuilt from up to 1 MiB of the file before the position.
Result<std::unique_ptr<StreamWriter>> resume_writer(BlockingToken& token, WriterParts& parts,
                                                    SourceFile& file, StreamCheckpoint checkpoint,
                                                    StreamContext context, UnixNanos observed);

// The same without a file to look into (it was truncated or is gone): what was read stays known by
// the hash in the checkpoint. `context` as above.
Result<std::unique_ptr<StreamWriter>> resume_writer_blind(WriterParts& parts,
                                                          StreamCheckpoint checkpoint,
                                                          StreamContext context);

// Parser state at `position`, from the bytes before it.
Result<std::string> rebuild_parser_state(BlockingToken& token, WriterParts& parts, SourceFile& file,
                                         std::uint64_t position, StreamContext context,
                                         UnixNanos observed);

}  // namespace logarithm::agent
