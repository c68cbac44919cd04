#include "graph/io/text_scan.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace weft::io {
namespace {

// from_chars does not say which way a number is out of range. Scaling decides it: a tiny number has a
// negative exponent, or a fraction that starts with hundreds of zeros.
bool is_tiny(std::string_view number) {
  const std::size_t exponent = number.find_first_of("eE");
  if (exponent != std::string_view::npos) return exponent + 1 < number.size() && number[exponent + 1] == '-';
  const std::size_t first = number.find_first_not_of("+-0");
  return first != std::string_view::npos && number[first] == '.';
}

bool parse(std::string_view text, double& value) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return false;
  if (error == std::errc::result_out_of_range) {
    if (!is_tiny(text)) return false;
    value = text.front() == '-' ? -0.0 : 0.0;
    return true;
  }
  return error == std::errc();
}

}  // namespace

bool TextCursor::read_real(double& value) {
  skip_blanks();
  const char* begin = at_;
  if (begin != end_ && *begin != '+') {  // the usual case needs no look ahead
    const auto [end, error] = std::from_chars(begin, end_, value);
    if (error == std::errc() && ends_token(end)) {
      at_ = end;
      return true;
    }
  }
  const std::string_view whole = token();
  bool read = parse(whole, value);
  if (!read && whole.find_first_of("dD") != std::string_view::npos) {
    std::string copy(whole.substr(0, 400));
    std::ranges::replace_if(
        copy, [](char c) { return c == 'd' || c == 'D'; }, 'e');
    read = whole.size() <= 400 && parse(copy, value);
  }
  if (!read) at_ = begin;
  return read;
}

}  // namespace weft::io
