#include "core/in_quotes.hpp"

#include <fmt/format.h>

namespace weft {

std::string in_quotes(std::string_view text, std::size_t most) {
  std::string result = "'";
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f)
      result += c;
    else
      result += fmt::format("\\x{:02x}", byte);
  }
  result += text.size() > most ? "...'" : "'";
  return result;
}

}  // namespace weft
