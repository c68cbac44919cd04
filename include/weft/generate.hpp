// Synthetic graphs. A specification gives the same graph on every machine and with any number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph.hpp"
#include "weft/progress.hpp"

namespace weft {

struct RmatSpec {  // Graph500's recursive matrix, ids scrambled
  int scale = 16;  // 2^scale nodes
  double edge_factor = 16;
  double a = 0.57, b = 0.19, c = 0.19;
  std::uint64_t seed = 1;
};

struct PowerlawSpec {  // degrees from a power law, endpoints by degree, planted communities
  std::int64_t nodes = 100'000;
  std::int64_t edges = 1'000'000;
  double exponent = 2.3;
  double max_degree = 0;         // 0: 8 % of the nodes, or 4 * mean + 4 if that is more
  std::int64_t communities = 0;  // 0: none
  double inside = 0.7;           // share of edges that stay inside their community
  bool shuffled = true;          // false: a community's nodes have neighbouring ids
  std::uint64_t seed = 1;
};

struct GridSpec {  // side x side, up to four neighbours each; the borders do not wrap
  std::int64_t side = 256;
};

struct MoleculesSpec {  // many small chains and rings, block-diagonal
  std::int64_t nodes = 100'000;
  std::uint64_t seed = 1;
};

struct UniformSpec {  // both endpoints of every edge drawn uniformly
  std::int64_t nodes = 100'000;
  std::int64_t edges = 1'000'000;
  std::uint64_t seed = 1;
};

struct StarSpec {  // every other node has an edge to node 0
  std::int64_t nodes = 100'000;
};

// `progress`, if given, is called as the work proceeds.
Graph generate(const RmatSpec& spec, const Progress& progress = {});
Graph generate(const PowerlawSpec& spec, const Progress& progress = {});
Graph generate(const GridSpec& spec, const Progress& progress = {});
Graph generate(const MoleculesSpec& spec, const Progress& progress = {});
Graph generate(const UniformSpec& spec, const Progress& progress = {});
Graph generate(const StarSpec& spec, const Progress& progress = {});

/// A dataset from the papers' tables, with its published counts, for which weft can generate a stand-in.
struct KnownDataset {
  std::string_view name;
  std::int64_t nodes;
  std::int64_t edges;
  std::string_view source;  // the table that the counts come from
};
std::vector<KnownDataset> known_datasets();

struct Generated {
  Graph graph;
  std::string description;  // "synthetic stand-in for ..., ..." or the full specification
};

/// Generates from KIND:key=value,... as on the command line: "rmat:scale=21,edge_factor=16,seed=1", "star:nodes=10",
/// "like:arxiv". An unknown kind, key or value is an Error that lists the known ones.
Generated generate(std::string_view spec, const Progress& progress = {});
/// Whether the text starts with a generator's name and a colon.
bool is_generator_spec(std::string_view text);

}  // namespace weft
