#pragma once

#include <cstdint>
#include <optional>

#include "agent/follow/source_fs.h"
#include "agent/follow/stream_writer.h"

namespace logarithm::agent {

// The zone of an imported file whose times name none, in minutes east of UTC: its last such time
// was written when the file was last modified, or up to eleven minutes before (lines without a time
// may follow, until a collective's time-out). nullopt when there is none in the last 64 KiB, when
// the file cannot be read, or when the two do not fit (it was copied or touched since): never a
// guess.
std::optional<std::int32_t> estimate_import_zone(BlockingToken& token, const WriterParts& parts,
                                                 SourceFile& file, const FileFacts& facts);

// When the kernel booted whose log an imported file is, at the latest: its last uptime was printed
// when the file was last modified, or before. nullopt when there is none in the last 64 KiB.
std::optional<UnixNanos> estimate_import_boot(BlockingToken& token, const WriterParts& parts,
                                              SourceFile& file, const FileFacts& facts);

}  // namespace logarithm::agent
