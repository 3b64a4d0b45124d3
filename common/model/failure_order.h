#pragma once

#include <optional>
#include <string>

namespace logarithm {

// A length of time for people, about two digits behind: "40 µs", "7.5 ms", "2.2 s", "37 min", "5.1
// h". The sign is left out.
std::string about_span(double milliseconds);

// Whether time tells who failed first: begins with "certain" or "cannot be ordered by time".
// `margin` is by how much the next one failed later (negative: earlier), `error` how far that may
// be off.
std::string failure_order(bool certain, std::optional<double> margin_ms,
                          std::optional<double> error_ms);

}  // namespace logarithm
