// Enumerators and their names, one table an enum: printing and parsing cannot drift apart.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/nearest.hpp"
#include "weft/types.hpp"

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

/// The last enumerator that has a name; they count from 0 on.
template <class Enum>
Enum last_of() {
  unsigned last = 0;
  while (name(static_cast<Enum>(last + 1)) != "unknown") ++last;
  return static_cast<Enum>(last);
}

/// The names of all enumerators, in their order.
template <class Enum>
std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names;
  for (unsigned i = 0; i <= static_cast<unsigned>(last_of<Enum>()); ++i) names.push_back(name(static_cast<Enum>(i)));
  return names;
}

/// ASCII letters in lower case: how names are compared.
std::string lower_case(std::string_view text);

/// An Error: "model 'gncc' is not known: did you mean gcn? expected one of gcn, sage". `meant` may be empty.
[[noreturn]] void fail_unknown(std::string_view what, std::string_view text, std::span<const std::string_view> names,
                               std::string_view meant);
/// The same, with the nearest of the names as what was meant.
[[noreturn]] void fail_unknown(std::string_view what, std::string_view text, std::span<const std::string_view> names);

/// Letters may be of either case. `aliases` are further spellings in lower case, understood but never printed.
template <class Enum, std::size_t N, std::size_t M = 0>
Enum parse_in(const NameTable<Enum, N>& table, std::string_view what, std::string_view text,
              const NameTable<Enum, M>& aliases = {}) {
  std::vector<std::pair<Enum, std::string_view>> spellings(table.begin(), table.end());
  spellings.insert(spellings.end(), aliases.begin(), aliases.end());
  const std::string given = lower_case(text);
  std::vector<std::string_view> words;
  for (const auto& [key, word] : spellings) {
    if (word == given) return key;
    words.push_back(word);
  }
  const std::string_view near = nearest(given, words);
  std::string_view meant;
  for (const auto& [key, word] : spellings)
    if (word == near) meant = name_in(table, key);
  words.resize(N);
  fail_unknown(what, text, words, meant);
}

/// Storage types that kernels compute with, by their names and the usual other ones: fp16, half, bfloat16, double.
Dtype parse_floating_dtype(std::string_view text);

}  // namespace weft
