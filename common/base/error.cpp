#include "common/base/error.h"

#include <cerrno>
#include <system_error>

namespace logarithm {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::invalid: return "invalid";
    case ErrorCode::corrupt: return "corrupt";
    case ErrorCode::io: return "io";
    case ErrorCode::no_space: return "no_space";
    case ErrorCode::timeout: return "timeout";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::unavailable: return "unavailable";
    case ErrorCode::conflict: return "conflict";
    case ErrorCode::too_large: return "too_large";
  }
  return "unknown";
}

Error Error::with_context(std::string_view context) const {
  return Error(code_, std::string(context) + ": " + message_);
}

std::string Error::to_string() const {
  return std::string(logarithm::to_string(code_)) + ": " + message_;
}

Error errno_error(int errno_value, std::string_view what) {
  ErrorCode code = ErrorCode::io;
  if (errno_value == ENOENT || errno_value == ESRCH) code = ErrorCode::not_found;
  if (errno_value == ENOSPC || errno_value == EDQUOT) code = ErrorCode::no_space;
  return Error(code, std::string(what) + ": " + std::generic_category().message(errno_value));
}

}  // namespace logarithm
