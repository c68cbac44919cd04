// Refusals: a bad argument must end in a weft::Error of the right kind whose message names it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <string>
#include <string_view>

#include "weft/error.hpp"

namespace weft::test {

/// Whether `word` stands in `text` on its own, not as part of a longer name.
inline bool names(std::string_view text, std::string_view word) {
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !part(text[at - 1]);
    const std::size_t end = at + word.size();
    if (starts && (end == text.size() || !part(text[end]))) return true;
  }
  return false;
}

/// What a call is refused with, for comparing two refusals.
inline std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no refusal";
}

/// The call must end in a one-line Error of this code; `look` then sees its message.
inline void expect_error(const std::function<void()>& call, ErrorCode code,
                         const std::function<void(const std::string& message)>& look, const std::string& what,
                         const char* file, int line) {
  const ::testing::ScopedTrace trace(file, line, "refused here");
  try {
    call();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(name(error.code()), name(code)) << message;
    EXPECT_EQ(message.find('\n'), message.npos) << message;
    look(message);
    return;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "expected a weft::Error that names " << what << ", got: " << error.what();
    return;
  }
  ADD_FAILURE() << "expected an Error that names " << what << ", but the call went through";
}

/// One of `arguments` (separated by '|') must be named; the message must be one line.
inline void expect_refused(const std::function<void()>& call, std::string_view arguments,
                           ErrorCode code = ErrorCode::invalid_argument, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
  const auto look = [arguments](const std::string& message) {
    bool named = false;
    for (std::size_t at = 0; at <= arguments.size();) {
      const std::size_t end = std::min(arguments.find('|', at), arguments.size());
      named = named || names(message, arguments.substr(at, end - at));
      at = end + 1;
    }
    EXPECT_TRUE(named) << "'" << message << "' does not name " << arguments;
  };
  expect_error(call, code, look, std::string(arguments), file, line);
}

}  // namespace weft::test
