// Which part of a dataset or file an Error is about, put in front of it by whoever knows.
#pragma once

#include <string_view>

#include "core/check.hpp"

namespace weft::io {

/// f() with the name of one of a dataset's files in front of whatever is wrong with it.
template <class F>
auto naming_part(std::string_view part, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", part, error.what());
  }
}

/// The same of an array of a file.
template <class F>
auto naming_array(std::string_view key, F&& f) {
  return naming_part(fmt::format("array '{}'", key), f);
}

}  // namespace weft::io
