// Enumerators and their names, one table an enum: printing and parsing cannot drift apart.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/check.hpp"

namespace weft {

template <class Enum, std::size_t N>
using NameTable = std::array<std::pair<Enum, std::string_view>, N>;

/// "unknown" for a value that is none of the enumerators: messages about such a value must still print.
template <class Enum, std::size_t N>
std::string_view name_in(const NameTable<Enum, N>& table, Enum value) {
  for (const auto& [key, text] : table)
    if (key == value) return text;
  return "unknown";
}

/// An Error unless `value` is one of the enumerators up to `last`, the enum's last one.
template <class Enum>
void check_enum(Enum value, Enum last, std::string_view what) {
  WEFT_CHECK(static_cast<unsigned>(value) <= static_cast<unsigned>(last), invalid_argument,
             "{} is {}, which is no enumerator: expected 0 to {}", what, static_cast<unsigned>(value),
             static_cast<unsigned>(last));
}

template <class Enum, std::size_t N>
Enum parse_in(const NameTable<Enum, N>& table, std::string_view what, std::string_view text) {
  std::string known;
  for (const auto& [key, entry] : table) {
    if (entry == text) return key;
    known += known.empty() ? "" : ", ";
    known += entry;
  }
  fail(ErrorCode::invalid_argument, "{} '{}' is not known: expected one of {}", what, text, known);
}

}  // namespace weft
