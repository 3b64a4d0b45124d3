#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace logarithm {

// A job's name is a key everywhere: text, and not a whole document.
inline constexpr std::size_t kMaxJobBytes = 1024;

// What is wrong with a name that somebody states; nullopt when nothing is. "" is none.
std::optional<std::string> problem_of_job_name(std::string_view name);

// The name to take where nobody can be asked (a directory's name, an environment): U+FFFD for what
// is no text; of one that is too long the beginning and a hash of all of it.
std::string usable_job_name(std::string_view name);

}  // namespace logarithm
