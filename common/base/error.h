#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace logarithm {

// The closed list of reasons for which an operation can fail. `cancelled` is how shutdown looks and
// is never logged as an error.
enum class ErrorCode {
  not_found,
  invalid,   // the input is wrong; trying again gives the same
  corrupt,   // stored or received bytes are damaged
  io,        // the operating system refused
  no_space,  // disk, quota or a configured cap
  timeout,
  cancelled,
  unavailable,  // not now; trying again may help
  conflict,     // contradicts what is already stored
  too_large,    // over a limit of ours
};

// The code as it is spelled above.
std::string_view to_string(ErrorCode code);

// An expected failure: what went wrong, with the context that each layer added in front.
class Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // "open segment 17: no space left": returns the error with `context` in front.
  Error with_context(std::string_view context) const;

  // "no_space: open segment 17: no space left".
  std::string to_string() const;

 private:
  ErrorCode code_;
  std::string message_;
};

// An Error of code `io` (or not_found, no_space where errno says so) from an errno value.
Error errno_error(int errno_value, std::string_view what);

}  // namespace logarithm
