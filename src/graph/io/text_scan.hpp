// Numbers out of text, without copying it and without the locale.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace weft::io {

/// Walks over text line by line; a carriage return counts as a blank. Tokens end at blanks, and at `separator` where
/// one is given.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text, char separator = ' ')
      : at_(text.data()), end_(text.data() + text.size()), separator_(separator) {}

  bool done() const { return at_ == end_; }
  const char* position() const { return at_; }
  bool at_line_end() const { return at_ == end_ || *at_ == '\n'; }
  char peek() const { return at_ == end_ ? '\n' : *at_; }

  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\f' || *at_ == '\v')) ++at_;
  }
  void next_line() {
    const void* line_end = at_ == end_ ? nullptr : std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_));
    at_ = line_end == nullptr ? end_ : static_cast<const char*>(line_end) + 1;
  }
  /// Skips blank lines and those that start with one of `marks`; true if a line with content stands here.
  bool to_content(std::string_view marks) {
    for (; at_ != end_; next_line()) {
      skip_blanks();
      if (!at_line_end() && !is_one_of(marks)) return true;
    }
    return false;
  }

  /// Whether the separator stands here, which is then passed.
  bool skip_separator() {
    skip_blanks();
    if (at_line_end() || *at_ != separator_) return false;
    ++at_;
    return true;
  }

  /// The text up to the next blank, separator or line end.
  std::string_view token() {
    skip_blanks();
    const char* begin = at_;
    while (!ends_token(at_)) ++at_;
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }

  /// Passes whatever stands before the separator or the line's end; where the separator is a blank, a token.
  void skip_field() {
    skip_blanks();
    if (separator_ == ' ') {
      token();
      return;
    }
    while (!at_line_end() && *at_ != separator_) ++at_;
  }

  /// A whole token that is a decimal integer. False leaves the cursor at the token.
  bool read_integer(std::int64_t& value) {
    skip_blanks();
    const char* p = at_;
    const bool negative = p != end_ && *p == '-';
    if (p != end_ && (*p == '-' || *p == '+')) ++p;
    const char* digits = p;
    std::uint64_t sum = 0;
    for (; p != end_ && static_cast<unsigned char>(*p - '0') < 10; ++p) {
      if (p - digits >= 18 && !grows(sum, *p, negative)) return false;
      sum = sum * 10 + static_cast<std::uint64_t>(*p - '0');
    }
    if (p == digits || !ends_token(p)) return false;
    value = negative ? static_cast<std::int64_t>(0 - sum) : static_cast<std::int64_t>(sum);
    at_ = p;
    return true;
  }

  /// A whole token that is a number; Fortran's exponents (1.5D+3) are read too. A magnitude beyond
  /// double's is refused, one below it is 0.
  bool read_real(double& value);

 private:
  bool is_one_of(std::string_view marks) const {
    for (const char mark : marks)
      if (*at_ == mark) return true;
    return false;
  }
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }
  bool ends_token(const char* p) const { return p == end_ || *p == '\n' || is_blank(*p) || *p == separator_; }
  // Whether one more digit stays within 64 bits.
  static bool grows(std::uint64_t sum, char digit, bool negative) {
    const std::uint64_t most = 0x7fffffffffffffffu + (negative ? 1 : 0);
    return sum < most / 10 || (sum == most / 10 && static_cast<std::uint64_t>(digit - '0') <= most % 10);
  }

  const char* at_;
  const char* end_;
  char separator_;
};

}  // namespace weft::io
