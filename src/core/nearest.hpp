// What someone who mistyped a name may have meant.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// What turns a word that was typed into a name.
struct Typing {
  std::size_t edits = 0;  // letters changed, put in, left out or swapped with the next
  std::size_t lost = 0;   // typed letters that the name does not have in their place
  friend auto operator<=>(const Typing&, const Typing&) = default;
  friend Typing operator+(Typing a, Typing b) { return {a.edits + b.edits, a.lost + b.lost}; }
};

/// The fewest edits, and of as many those that keep most of what was typed.
inline Typing typing_between(std::string_view word, std::string_view name) {
  constexpr Typing kept{}, replaced{1, 1}, left_out{1, 1}, put_in{1, 0}, swapped{1, 0};
  std::array<std::vector<Typing>, 3> rows;  // of the letters of `word` before last, last and now
  for (auto& row : rows) row.resize(name.size() + 1);
  for (std::size_t j = 1; j <= name.size(); ++j) rows[2][j] = rows[2][j - 1] + put_in;
  for (std::size_t i = 1; i <= word.size(); ++i) {
    std::rotate(rows.begin(), rows.begin() + 1, rows.end());
    auto& [before, last, now] = rows;
    now[0] = last[0] + left_out;
    for (std::size_t j = 1; j <= name.size(); ++j) {
      const bool same = word[i - 1] == name[j - 1];
      now[j] = std::min({last[j] + left_out, now[j - 1] + put_in, last[j - 1] + (same ? kept : replaced)});
      if (i > 1 && j > 1 && word[i - 1] == name[j - 2] && word[i - 2] == name[j - 1])
        now[j] = std::min(now[j], before[j - 2] + swapped);
    }
  }
  return rows[2][name.size()];
}

/// How many letters must be changed, put in, left out or swapped with the next to turn one word into the other.
inline std::size_t typing_distance(std::string_view a, std::string_view b) { return typing_between(a, b).edits; }

/// The most that a name may differ from a word to be what was meant by it: about a third of the letters, of which one
/// must be right.
inline std::size_t most_typos(std::string_view word) {
  return word.empty() ? 0 : std::min((word.size() + 2) / 3, word.size() - 1);
}

/// The first of the nearest names, or nothing where all of them differ by more than most_typos. Of names as near as
/// each other the one with more of what was typed: "gat2" is gatv2 without its v rather than gat with a 2 too many.
template <class Names>
std::string_view nearest(std::string_view word, const Names& names) {
  std::string_view best;
  Typing least{most_typos(word) + 1, 0};
  for (const std::string_view name : names)
    if (const Typing typing = typing_between(word, name); typing < least) {
      best = name;
      least = typing;
    }
  return best;
}

/// "did you mean gcn? ", or nothing where nothing was meant.
inline std::string did_you_mean(std::string_view meant) {
  return meant.empty() ? "" : "did you mean " + std::string(meant) + "? ";
}

}  // namespace weft
