#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/line/line.h"

namespace logarithm {

// One scalar of a dictionary; a nested one is named `outer.inner`.
struct DictEntry {
  std::string key;
  MetaValue value;
  std::string_view text;  // where the value stands in the body, without its quotes
  bool number = false;
};

enum class DictSyntax { json, python };

// Reads a body that is one dictionary: `{"loss": 1.2, "lr": NaN}`, `{'loss': '2.31', 'n': None}`.
// Bare NaN and Infinity (Python's json writes them) and quoted numbers are numbers; `tensor(2.3)`
// and `np.float64(2.3)` are their number. Lists and null are left out, as is what lies over 8
// levels deep or after 128 scalars. False, with `out` unusable, when the body is no such
// dictionary.
bool read_dict(std::string_view body, DictSyntax syntax, std::vector<DictEntry>& out);

}  // namespace logarithm
