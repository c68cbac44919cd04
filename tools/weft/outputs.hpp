// The files a command writes at its end. Each one is tried, whatever became of those before it: a full disk under one
// path must not cost the results that other paths have room for.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace weft::tool {

/// A path with the option or argument that it was given to.
struct NamedPath {
  std::string_view option;
  const std::string* path;
};
/// A UsageError where two outputs are one file, however they are spelled, or an output is something the command reads.
/// Empty paths, "-", devices and pipes are nobody's file.
void check_distinct(const std::vector<NamedPath>& outputs, const std::vector<NamedPath>& inputs);

/// A UsageError where figures and page are both to go to standard output.
void check_one_on_stdout(const std::string& json, const std::string& report);

class Outputs {
 public:
  /// Lines about files that were written go to `out`, failures to stderr.
  explicit Outputs(std::FILE* out) : out_(out) {}

  /// `option` ("--save") is named where `write` throws. An empty path asks for nothing; "-" is standard output, about
  /// which no line is printed.
  void add(std::string_view option, const std::string& path, std::function<void(const std::string& path)> write);
  /// A text that is made only when its turn comes, so that failing to make it is a failure of this output alone.
  void add_text(std::string_view option, const std::string& path, std::function<std::string()> text);
  /// What failed before, such as a checkpoint during training: a line of stderr, now.
  void report_failure(std::string_view option, std::string_view message);
  /// Tries all that were added, in their order, and forgets them. The exit status: 1 where anything failed, ever, or
  /// else `status`.
  int write_all(int status = 0);

 private:
  struct Output {
    std::string option, path;
    std::function<void(const std::string&)> write;
  };
  std::FILE* out_;
  std::vector<Output> outputs_;
  bool failed_ = false;
};

}  // namespace weft::tool
