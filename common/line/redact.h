#pragma once

#include <cstdint>
#include <vector>

#include "common/line/line.h"
#include "common/model/stream.h"
#include "common/rules/rule_set.h"

namespace logarithm {

// Masks what the `redact` rules of `rules` find in `line`, before anything else looks at it: in the
// raw bytes, and in the text that they stand for (a secret may be cut by a container's pieces,
// escapes or colours; then all of the message is masked rather than a part left). Each masked span
// is a gap `redacted`; `line.length` and the extents stay the file's. Needs offset, raw, transport,
// extents and observed; `prefix` is where the text begins in a plain line's raw. `secrets` is
// scratch.
void redact(Line& line, std::uint32_t prefix, const RuleSet& rules,
            std::vector<RuleSet::Secret>& secrets, std::vector<Gap>& gaps);

}  // namespace logarithm
