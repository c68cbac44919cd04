// The one way errors are raised inside weft.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "weft/error.hpp"

namespace weft {

template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace weft

/// WEFT_CHECK(condition, code, "format", values...): throws weft::Error unless the condition holds.
/// The message names the argument, its value, what was expected and what to do.
#define WEFT_CHECK(condition, code, ...)                  \
  do {                                                    \
    if (!(condition)) [[unlikely]]                        \
      ::weft::fail(::weft::ErrorCode::code, __VA_ARGS__); \
  } while (false)
