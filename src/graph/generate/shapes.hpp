// Shapes that only stand-ins use; they are reached through like:NAME.
#pragma once

#include <cstdint>

#include "weft/graph.hpp"
#include "weft/progress.hpp"

namespace weft::generator {

/// Low, even degrees and neighbours close by, as in road maps: node i is linked with i + 1, i + w,
/// i + w + 1 and i + w - 1 (w about the square root of the nodes), both ways. The four links are
/// used up in this order until `edges` are there; of the last, a random share is kept.
struct LatticeShape {
  std::int64_t nodes;
  std::int64_t edges;
  std::uint64_t seed;
};

/// Many small connected graphs side by side: trees that mostly are chains, closed to rings by
/// `rings` further bonds in all. Both directions of every bond are edges.
struct MoleculesShape {
  std::int64_t nodes;
  std::int64_t rings;
  int min_atoms, max_atoms;  // max_atoms >= 2 * min_atoms - 1: then what is left always fits
  int max_bonds;             // an atom's
  int ring_from, ring_to;    // how far apart along the chain a ring's closing bond reaches
  std::uint64_t seed;
};

Graph generate_lattice(const LatticeShape& shape, const Progress& progress = {});
Graph generate_molecules(const MoleculesShape& shape, const Progress& progress = {});
/// How many of them generate_molecules makes.
std::int64_t count_molecules(const MoleculesShape& shape);

}  // namespace weft::generator
