// Text cut into pieces at line borders, which threads parse side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/progress.hpp"

namespace weft::io {

struct TextChunk {
  std::string_view text;
  std::int64_t lines = 0;  // with content: neither empty nor a comment
  std::int64_t first = 0;  // which of all those lines is its first
};

/// What is wrong with a line, and where.
struct TextFault {
  const char* at = nullptr;
  std::string message;
};

class TextChunks {
 public:
  /// `body` is the part of `whole` to cut; lines are counted from the start of `whole`, which so many stand before.
  /// Those that start with one of `comments` have no content.
  TextChunks(std::string_view whole, std::string_view body, std::string_view comments, std::int64_t lines_before = 0);

  std::int64_t lines() const { return lines_; }
  const std::vector<TextChunk>& chunks() const { return chunks_; }
  /// parse(i, fault) for every chunk, on all threads. Afterwards the first fault of the text is raised, whoever met it.
  void each(const Progress& progress, const std::function<void(std::size_t i, TextFault& fault)>& parse) const;

 private:
  std::string_view whole_;
  std::int64_t lines_before_;
  std::vector<TextChunk> chunks_;
  std::int64_t lines_ = 0;
};

/// Ends in an Error that names the line of `whole` which `at` stands in.
[[noreturn]] void fail_at_line(std::string_view whole, const char* at, std::string_view message,
                               std::int64_t lines_before = 0);
/// From `at` to the end of its line.
std::string_view rest_of_line(std::string_view whole, const char* at);

}  // namespace weft::io
