// The generators as the command shows them. The specifications' defaults are in include/weft/generate.hpp.
#pragma once

#include <string>
#include <string_view>

namespace weft::tool {

struct Generator {
  std::string_view form, meaning;

  std::string_view kind() const { return form.substr(0, form.find(':')); }
};
inline constexpr Generator generators[] = {
    {"rmat:scale=16,edge_factor=16,a=0.57,b=0.19,c=0.19,seed=1", "Graph500's recursive matrix, 2^scale nodes"},
    {"powerlaw:nodes=100000,edges=1000000,exponent=2.3,max_degree=0,communities=0,inside=0.7,shuffled=1,seed=1",
     "degrees from a power law, planted communities; max_degree=0 is 8 % of the nodes"},
    {"grid:side=256", "side x side nodes, four neighbours each"},
    {"molecules:nodes=100000,seed=1", "many small chains and rings"},
    {"uniform:nodes=100000,edges=1000000,seed=1", "both ends of every edge drawn evenly"},
    {"star:nodes=100000", "every node points at node 0"},
    {"like:NAME", "a synthetic stand-in with the node and edge counts of a published dataset"},
};

/// For a text that is no SPEC but was perhaps meant to be one: what to write instead. Else empty.
std::string spec_suggestion(std::string_view text);

}  // namespace weft::tool
