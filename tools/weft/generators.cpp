#include "generators.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/names.hpp"
#include "core/nearest.hpp"
#include "graph/generate/spec.hpp"
#include "weft/generate.hpp"

namespace weft::tool {
namespace {

using Meaning = std::pair<std::string_view, std::string_view>;
constexpr auto meanings = std::to_array<Meaning>(
    {{"rmat", "Graph500's recursive matrix, 2^scale nodes"},
     {"powerlaw", "degrees from a power law, planted communities; max_degree=0 is 8 % of the nodes"},
     {"grid", "side x side nodes, four neighbours each"},
     {"molecules", "many small chains and rings"},
     {"uniform", "both ends of every edge drawn evenly"},
     {"star", "every node points at node 0"},
     {"like", "a synthetic stand-in with the node and edge counts of a published dataset"}});

std::string_view meaning_of(std::string_view kind) {
  for (const auto& [name, meaning] : meanings)
    if (name == kind) return meaning;
  return "";
}

}  // namespace

std::vector<Generator> generators() {
  std::vector<Generator> all;
  for (generator::KindForm& entry : generator::kind_forms())
    all.push_back({entry.kind, std::move(entry.form), meaning_of(entry.kind)});
  return all;
}

// Compared and answered in lower case, as everything in a SPEC is.
std::string spec_suggestion(std::string_view given) {
  const std::string text = lower_case(given);
  const std::size_t colon = text.find(':');
  const std::string word = text.substr(0, colon);
  std::vector<std::string_view> kinds;
  for (const Generator& generator : generators()) {
    if (colon == text.npos && generator.kind == word)
      return fmt::format("the generator '{}' takes its parameters behind a colon, as in {}", word,
                         word == "like" ? "like:cora" : generator.form);
    kinds.push_back(generator.kind);
  }
  const std::string_view meant = colon == text.npos ? "" : nearest(word, kinds);
  return meant.empty() ? "" : fmt::format("did you mean {}{}?", meant, text.substr(colon));
}

}  // namespace weft::tool
