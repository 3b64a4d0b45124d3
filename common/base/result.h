#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "common/base/assert.h"
#include "common/base/error.h"

namespace logarithm {

// A value or an Error. Used for every failure that can be expected; std::expected needs C++23 and
// does not exist for the clang versions that lint and fuzz this code.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // The value; calling these without one is a bug.
  T& value() & {
    LGR_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    LGR_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    LGR_ASSERT(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // The error; calling this on a success is a bug.
  const Error& error() const {
    LGR_ASSERT(!ok());
    return *std::get_if<1>(&state_);
  }

  // This result, with `context` in front of the error's message if it is one.
  Result with_context(std::string_view context) && {
    if (ok()) return std::move(*this);
    return error().with_context(context);
  }

 private:
  std::variant<T, Error> state_;
};

// Success or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    LGR_ASSERT(!ok());
    return *error_;
  }
  Status with_context(std::string_view context) && {
    if (ok()) return {};
    return error_->with_context(context);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace logarithm

#define LGR_CONCAT_INNER(a, b) a##b
#define LGR_CONCAT(a, b) LGR_CONCAT_INNER(a, b)

// LGR_TRY(auto value, expression); binds the value or returns the error.
// LGR_CHECK(status_expression); does the same for a Status. LGR_CO_TRY / LGR_CO_CHECK do it in
// coroutines (co_return).
#define LGR_TRY_IMPL(name, return_word, declaration, ...) \
  auto name = (__VA_ARGS__);                              \
  if (!name.ok()) return_word name.error();               \
  declaration = std::move(name).value()
#define LGR_TRY(declaration, ...) \
  LGR_TRY_IMPL(LGR_CONCAT(lgr_try_, __LINE__), return, declaration, __VA_ARGS__)
#define LGR_CO_TRY(declaration, ...) \
  LGR_TRY_IMPL(LGR_CONCAT(lgr_try_, __LINE__), co_return, declaration, __VA_ARGS__)
#define LGR_CHECK_IMPL(name, return_word, ...) \
  do {                                         \
    auto name = (__VA_ARGS__);                 \
    if (!name.ok()) return_word name.error();  \
  } while (false)
#define LGR_CHECK(...) LGR_CHECK_IMPL(LGR_CONCAT(lgr_check_, __LINE__), return, __VA_ARGS__)
#define LGR_CO_CHECK(...) LGR_CHECK_IMPL(LGR_CONCAT(lgr_check_, __LINE__), co_return, __VA_ARGS__)
