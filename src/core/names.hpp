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

template <class Enum, std::size_t N>
std::string_view name_in(const NameTable<Enum, N>& table, Enum value) {
  for (const auto& [key, text] : table)
    if (key == value) return text;
  fail(ErrorCode::internal, "enumerator {} has no name", static_cast<int>(value));
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
