#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/block/header_codec.h"

// Sections as they are stored: zstd level 1, or as they are when that saves nothing.
namespace logarithm::block {

// Appends `raw` to `sections` and gives its directory entry. Error{too_large} past the cap.
Result<SectionEntry> pack_section(SectionId id, std::string_view raw, std::string& sections);

// The raw bytes: a view of `stored` when they are stored as they are, else of `buffer`. Nothing is
// allocated before the frame's own size agrees with the directory's.
Result<std::string_view> unpack_section(const SectionEntry& entry, std::string_view stored,
                                        std::string& buffer);

}  // namespace logarithm::block
