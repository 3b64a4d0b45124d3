#include "common/model/job_name.h"

#include "common/base/types.h"
#include "common/base/utf8.h"

namespace logarithm {

std::optional<std::string> problem_of_job_name(std::string_view name) {
  if (!valid_utf8(name)) return "is not valid UTF-8";
  if (name.size() <= kMaxJobBytes) return std::nullopt;
  return "is longer than " + std::to_string(kMaxJobBytes) + " bytes";
}

std::string usable_job_name(std::string_view name) {
  std::string out = sanitize_utf8(name);
  if (out.size() <= kMaxJobBytes) return out;
  const std::string rest = "~" + to_text(hash_base(out));
  std::string begin = out.substr(0, kMaxJobBytes - rest.size());
  // Not in the middle of a character.
  while (!valid_utf8(begin)) begin.pop_back();
  return begin + rest;
}

}  // namespace logarithm
