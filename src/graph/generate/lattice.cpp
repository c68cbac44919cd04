// Graphs whose rows follow from the node's number: grid, star, lattice.
#include <algorithm>
#include <array>
#include <numeric>

#include "graph/generate/assemble.hpp"
#include "graph/generate/limits.hpp"
#include "graph/generate/random.hpp"
#include "graph/generate/shapes.hpp"
#include "weft/generate.hpp"

namespace weft {

using namespace generator;

Graph generate(const GridSpec& spec, const Progress& progress) {
  constexpr std::int64_t max_side = 46'340;  // the largest whose square fits a NodeId
  WEFT_CHECK(spec.side >= 1 && spec.side <= max_side, invalid_argument,
             "grid: side={} is out of range: expected 1 to {}", spec.side, max_side);
  const std::int64_t side = spec.side;
  const auto neighbours = [side](std::int64_t i, NodeId* out) {
    const std::int64_t y = i / side, x = i % side;
    int count = 0;
    if (y > 0) out[count++] = static_cast<NodeId>(i - side);
    if (x > 0) out[count++] = static_cast<NodeId>(i - 1);
    if (x + 1 < side) out[count++] = static_cast<NodeId>(i + 1);
    if (y + 1 < side) out[count++] = static_cast<NodeId>(i + side);
    return count;
  };
  const auto length = [&](std::int64_t i) {
    std::array<NodeId, 4> row;
    return neighbours(i, row.data());
  };
  return graph_from_rows(side * side, progress, length, neighbours);
}

Graph generate(const StarSpec& spec, const Progress& progress) {
  check_nodes("star", spec.nodes);
  return graph_from_rows(
      spec.nodes, progress, [&](std::int64_t i) { return i == 0 ? spec.nodes - 1 : 0; },
      [&](std::int64_t i, NodeId* out) {
        if (i == 0) std::iota(out, out + spec.nodes - 1, NodeId{1});
      });
}

namespace generator {
namespace {

// The largest w with w * w <= n.
std::int64_t integer_root(std::int64_t n) {
  std::int64_t w = 1;
  while ((w + 1) * (w + 1) <= n) ++w;
  return w;
}

}  // namespace

Graph generate_lattice(const LatticeShape& shape, const Progress& progress) {
  constexpr int links = 4;
  const std::int64_t nodes = shape.nodes;
  const std::int64_t width = std::max<std::int64_t>(3, integer_root(nodes));      // 3: the four steps stay different
  const std::array<std::int64_t, links> step = {1, width - 1, width, width + 1};  // ascending, as rows are
  std::array<std::uint64_t, links> keep{};                                        // of 2^32
  std::int64_t wanted = shape.edges / 2;
  for (const int l : {0, 2, 3, 1}) {  // the order in which they are used up
    const std::int64_t candidates = std::max<std::int64_t>(nodes - step[l], 0);
    if (candidates == 0) continue;
    const std::int64_t taken = std::min(wanted, candidates);
    keep[l] = (static_cast<std::uint64_t>(taken) << 32) / static_cast<std::uint64_t>(candidates);
    wanted -= taken;
  }
  std::array<std::uint64_t, links> key;
  for (int l = 0; l < links; ++l) key[l] = sequence_key(shape.seed, Stream::bond, l);
  const auto kept = [&](std::int64_t i, int l) { return element(key[l], i) >> 32 < keep[l]; };
  const auto neighbours = [&](std::int64_t i, NodeId* out) {
    int count = 0;
    for (int l = links - 1; l >= 0; --l)
      if (i - step[l] >= 0 && kept(i - step[l], l)) out[count++] = static_cast<NodeId>(i - step[l]);
    for (int l = 0; l < links; ++l)
      if (i + step[l] < nodes && kept(i, l)) out[count++] = static_cast<NodeId>(i + step[l]);
    return count;
  };
  const auto length = [&](std::int64_t i) {
    std::array<NodeId, 2 * links> row;
    return neighbours(i, row.data());
  };
  return graph_from_rows(nodes, progress, length, neighbours);
}

}  // namespace generator
}  // namespace weft
