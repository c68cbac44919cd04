#include <algorithm>
#include <vector>

#include "graph/generate/assemble.hpp"
#include "graph/generate/limits.hpp"
#include "graph/generate/random.hpp"
#include "graph/generate/shapes.hpp"
#include "weft/generate.hpp"

namespace weft::generator {
namespace {

// Where each molecule's atoms begin, and the total at the end. No molecule is smaller than
// min_atoms, unless all the nodes together are fewer.
std::vector<NodeId> molecule_starts(const MoleculesShape& shape) {
  Random random(shape.seed, Stream::molecule_size, 0);
  std::vector<NodeId> starts{0};
  for (std::int64_t left = shape.nodes; left > 0;) {
    std::int64_t size =
        shape.min_atoms + static_cast<std::int64_t>(random.below(shape.max_atoms - shape.min_atoms + 1));
    if (left <= shape.max_atoms)
      size = left;
    else if (left - size < shape.min_atoms)
      size = left - shape.min_atoms;
    left -= size;
    starts.push_back(static_cast<NodeId>(shape.nodes - left));
  }
  return starts;
}

// One molecule: every atom's neighbours in a fixed number of slots.
class Molecule {
 public:
  void build(const MoleculesShape& shape, std::int64_t index, int atoms, std::int64_t rings) {
    atoms_ = atoms;
    slots_ = shape.max_bonds;
    bonds_.assign(atoms, 0);
    neighbour_.resize(static_cast<std::size_t>(atoms) * slots_);
    Random random(shape.seed, Stream::molecule, index);
    for (int a = 1; a < atoms; ++a) {
      const bool branch = random.below(5) == 0;  // four of five continue the chain
      const int reach = std::min(a, 6);
      const int b = branch ? a - 1 - static_cast<int>(random.below(reach)) : a - 1;
      if (!bond(a, b)) bond(a, a - 1);  // the newest atom always has room
    }
    const int distances = shape.ring_to - shape.ring_from + 1;
    // Crowded molecules may have no place left for a ring: give up after 32 misses for each.
    for (std::int64_t tries = 32 * rings; rings > 0 && tries > 0; --tries) {
      const int a = static_cast<int>(random.below(atoms));
      const int b = a + shape.ring_from + static_cast<int>(random.below(distances));
      if (b < atoms && bond(a, b)) --rings;
    }
  }
  int bonds(int atom) const { return bonds_[atom]; }
  void write(int atom, NodeId base, NodeId* out) const {
    const int* from = neighbour_.data() + static_cast<std::size_t>(atom) * slots_;
    for (int k = 0; k < bonds_[atom]; ++k) out[k] = base + from[k];
    std::sort(out, out + bonds_[atom]);
  }

 private:
  bool bond(int a, int b) {
    int* of_a = neighbour_.data() + static_cast<std::size_t>(a) * slots_;
    int* of_b = neighbour_.data() + static_cast<std::size_t>(b) * slots_;
    if (bonds_[a] == slots_ || bonds_[b] == slots_ || std::find(of_a, of_a + bonds_[a], b) != of_a + bonds_[a])
      return false;
    of_a[bonds_[a]++] = b;
    of_b[bonds_[b]++] = a;
    return true;
  }

  int atoms_ = 0, slots_ = 0;
  std::vector<int> bonds_, neighbour_;
};

}  // namespace

std::int64_t count_molecules(const MoleculesShape& shape) {
  return static_cast<std::int64_t>(molecule_starts(shape).size()) - 1;
}

Graph generate_molecules(const MoleculesShape& shape, const Progress& progress) {
  const int threads = default_threads();
  const std::vector<NodeId> starts = molecule_starts(shape);
  const auto count = static_cast<std::int64_t>(starts.size()) - 1;
  // Rings are shared out by atoms; cutting off the running total gives away exactly all of them.
  const auto rings_before = [&](std::int64_t m) { return shape.rings * starts[m] / shape.nodes; };
  Ticker ticker(progress, count, 2);
  const auto each = [&](auto&& visit) {
    parallel_ranges(threads, count, 64, [&](std::int64_t begin, std::int64_t end) {
      Molecule molecule;
      for (std::int64_t m = begin; m < end; ++m) {
        molecule.build(shape, m, starts[m + 1] - starts[m], rings_before(m + 1) - rings_before(m));
        for (NodeId i = starts[m]; i < starts[m + 1]; ++i) visit(molecule, starts[m], i);
      }
      ticker.add(end - begin);
    });
  };
  Buffer<EdgeId> offsets = zero_offsets(shape.nodes);
  each([&](const Molecule& molecule, NodeId base, NodeId i) { offsets[i + 1] = molecule.bonds(i - base); });
  counts_to_offsets({offsets.data(), offsets.size()});
  Buffer<NodeId> cols(offsets[shape.nodes], "a generated graph's columns");
  each([&](const Molecule& molecule, NodeId base, NodeId i) {
    molecule.write(i - base, base, cols.data() + offsets[i]);
  });
  ticker.end();
  return own_graph(std::move(offsets), std::move(cols));
}

}  // namespace weft::generator

namespace weft {

Graph generate(const MoleculesSpec& spec, const Progress& progress) {
  generator::check_nodes("molecules", spec.nodes);
  // Carbon's four bonds, rings of five and six atoms, one for every twelve atoms: about 2.08 edges per node.
  return generator::generate_molecules({.nodes = spec.nodes,
                                        .rings = spec.nodes / 12,
                                        .min_atoms = 10,
                                        .max_atoms = 39,
                                        .max_bonds = 4,
                                        .ring_from = 4,
                                        .ring_to = 5,
                                        .seed = spec.seed},
                                       progress);
}

}  // namespace weft
