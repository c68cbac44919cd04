// What someone who mistyped a name may have meant.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// How many letters must be changed, put in, left out or swapped with the next to turn one word into the other.
inline std::size_t typing_distance(std::string_view a, std::string_view b) {
  std::array<std::vector<std::size_t>, 3> rows;  // of the letters of `a` before last, last and now
  for (auto& row : rows) row.resize(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) rows[2][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::rotate(rows.begin(), rows.begin() + 1, rows.end());
    auto& [before, last, now] = rows;
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
  }
  return rows[2][b.size()];
}

/// The most that a name may differ from a word to be what was meant by it: about a third of the letters, of which one
/// must be right.
inline std::size_t most_typos(std::string_view word) {
  return word.empty() ? 0 : std::min((word.size() + 2) / 3, word.size() - 1);
}

/// The first of the nearest names, or nothing where all of them differ by more than most_typos.
template <class Names>
std::string_view nearest(std::string_view word, const Names& names) {
  std::string_view best;
  std::size_t least = most_typos(word) + 1;
  for (const std::string_view name : names)
    if (const std::size_t distance = typing_distance(word, name); distance < least) {
      best = name;
      least = distance;
    }
  return best;
}

/// "did you mean gcn? ", or nothing where nothing was meant.
inline std::string did_you_mean(std::string_view meant) {
  return meant.empty() ? "" : "did you mean " + std::string(meant) + "? ";
}

}  // namespace weft
