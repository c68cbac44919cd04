// Graph500's recursive matrix: each edge descends `scale` levels into one of four quadrants, then
// both ids go through one bijection, so that hubs do not sit at the low ids.
#include <algorithm>
#include <cmath>

#include "graph/generate/assemble.hpp"
#include "graph/generate/limits.hpp"
#include "graph/generate/random.hpp"
#include "weft/generate.hpp"

namespace weft {
namespace {

using namespace generator;

void check(const RmatSpec& spec) {
  WEFT_CHECK(spec.scale >= 1 && spec.scale <= 30, invalid_argument,
             "rmat: scale={} is out of range: expected 1 to 30 (2^scale nodes)", spec.scale);
  const double most = std::ldexp(1.0, std::min(spec.scale, 20));
  WEFT_CHECK(spec.edge_factor >= 0 && spec.edge_factor <= most, invalid_argument,
             "rmat: edge_factor={} is out of range: expected 0 to {} draws a node at scale {}", spec.edge_factor, most,
             spec.scale);
  check_share("rmat", "a", spec.a);
  check_share("rmat", "b", spec.b);
  check_share("rmat", "c", spec.c);
  WEFT_CHECK(spec.a + spec.b + spec.c <= 1 + 1e-9, invalid_argument,
             "rmat: a={}, b={}, c={} add up to more than 1: the fourth quadrant gets 1 - a - b - c", spec.a, spec.b,
             spec.c);
}

// Shares as thresholds of 21 bits: scaling by a power of two is exact, cutting off is the same everywhere.
constexpr int share_bits = 21;
std::uint64_t threshold(double share) { return static_cast<std::uint64_t>(std::min(share, 1.0) * 0x1p21); }

}  // namespace

Graph generate(const RmatSpec& spec, const Progress& progress) {
  check(spec);
  const std::int64_t nodes = std::int64_t{1} << spec.scale;
  const auto draws = static_cast<std::int64_t>(spec.edge_factor * static_cast<double>(nodes));
  const std::uint64_t upper_left = threshold(spec.a);
  const std::uint64_t upper = threshold(spec.a + spec.b);
  const std::uint64_t upper_or_left = threshold(spec.a + spec.b + spec.c);
  const Permutation scramble(nodes, spec.seed, Stream::ids);
  return graph_from_draws(nodes, draws, progress, [&](std::int64_t k) {
    const std::uint64_t key = sequence_key(spec.seed, Stream::quadrant, k);
    std::uint64_t row = 0, col = 0, word = 0;
    for (int level = 0; level < spec.scale; ++level) {
      if (level % 3 == 0) word = element(key, level / 3);  // three levels of 21 bits
      const std::uint64_t u = word & ((1 << share_bits) - 1);
      word >>= share_bits;
      // Quadrants in the order a, b, c, d; without branches, which no processor could predict.
      const unsigned at_least_b = u >= upper_left, at_least_c = u >= upper, at_least_d = u >= upper_or_left;
      row = row << 1 | at_least_c;
      col = col << 1 | (at_least_b ^ at_least_c ^ at_least_d);
    }
    return Edge{static_cast<NodeId>(scramble(row)), static_cast<NodeId>(scramble(col))};
  });
}

}  // namespace weft
