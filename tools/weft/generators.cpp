#include "generators.hpp"

#include <fmt/format.h>

#include <vector>

#include "core/nearest.hpp"
#include "weft/generate.hpp"

namespace weft::tool {

std::string spec_suggestion(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  std::vector<std::string_view> kinds;
  for (const Generator& generator : generators) {
    if (colon == text.npos && generator.kind() == word)
      return fmt::format("the generator '{}' takes its parameters behind a colon, as in {}", word,
                         word == "like" ? "like:cora" : generator.form);
    kinds.push_back(generator.kind());
  }
  for (const KnownDataset& dataset : known_datasets())
    if (dataset.name == text) return fmt::format("did you mean like:{}?", text);
  const std::string_view meant = colon == text.npos ? "" : nearest(word, kinds);
  return meant.empty() ? "" : fmt::format("did you mean {}{}?", meant, text.substr(colon));
}

}  // namespace weft::tool
