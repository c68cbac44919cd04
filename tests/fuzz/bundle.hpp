// Several files in one input: each begins with a line "==== NAME", and ends before the line end in front of the next.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace weft::test {

inline constexpr std::string_view bundle_mark = "==== ", next_bundle_mark = "\n==== ";

/// f(name, content) of every file, in their order. `Byte` may be const.
template <class Byte, class F>
void for_each_file(std::span<Byte> bytes, const F& f) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t at = 0;
  while (text.substr(at).starts_with(bundle_mark)) {
    const std::size_t line_end = text.find('\n', at);
    if (line_end == text.npos) return;
    const std::string_view name = text.substr(at, line_end - at).substr(bundle_mark.size());
    const std::size_t begin = line_end + 1, next = text.find(next_bundle_mark, begin);
    const std::size_t end = next == text.npos ? text.size() : next;
    f(name, bytes.subspan(begin, end - begin));
    at = next == text.npos ? end : end + 1;
  }
}

}  // namespace weft::test
