// weft reports every failure to its caller as a weft::Error: one line that names the argument, its value, what was
// expected and what to do, and a code that a program can branch on.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace weft {

enum class ErrorCode {
  invalid_argument,  // a value the caller passed breaks the function's contract
  invalid_graph,     // offsets or node ids do not describe a graph
  invalid_file,      // a file's content breaks its format
  io,                // the operating system refused: missing file, full disk, no permission
  out_of_memory,     // an allocation failed; the message names its size and purpose
  device,            // the GPU or its driver reported a failure; the message contains its text
  unsupported,       // valid, but this build or machine cannot do it
  internal,          // a bug in weft: please report it
};

/// The code's name as it appears in messages and JSON: "invalid_argument".
std::string_view name(ErrorCode code);

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace weft
