// Compiled with -ffp-contract=off, see power.cpp: every floating operation here decides structure.
#include "graph/generate/degrees.hpp"

#include <algorithm>
#include <cmath>

#include "core/parallel.hpp"
#include "graph/generate/power.hpp"
#include "graph/generate/random.hpp"

namespace weft::generator {
namespace {

// Sums run over blocks of this many nodes and then over the blocks, in order: the same additions for
// any number of threads.
constexpr std::int64_t block = 1 << 14;

struct Bounds {
  double low, high;
  double degree(double weight, double scale) const { return std::min(std::max(weight * scale, low), high); }
};

Buffer<double> draw_weights(std::int64_t nodes, double exponent, std::uint64_t seed) {
  const double power = 1 / (exponent - 1);
  const std::uint64_t key = sequence_key(seed, Stream::degree);
  Buffer<double> weights(nodes, "degree weights");
  parallel_ranges(default_threads(), nodes, block, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double u = static_cast<double>((element(key, i) >> 11) + 1) * 0x1p-53;
      weights[i] = portable_exp2(std::min(-portable_log2(u) * power, 900.0));  // far above any cap, short of overflow
    }
  });
  return weights;
}

double total_degree(const Buffer<double>& weights, double scale, const Bounds& bounds, Buffer<double>& partial) {
  const auto nodes = static_cast<std::int64_t>(weights.size());
  parallel_tasks(default_threads(), static_cast<std::int64_t>(partial.size()), [&](std::int64_t b, int) {
    double sum = 0;
    const std::int64_t end = std::min(nodes, (b + 1) * block);
    for (std::int64_t i = b * block; i < end; ++i) sum += bounds.degree(weights[i], scale);
    partial[b] = sum;
  });
  double sum = 0;
  for (const double p : partial) sum += p;
  return sum;
}

// The scale at which the clipped degrees add up to `edges`: bisection over its exponent.
double find_scale(const Buffer<double>& weights, double edges, const Bounds& bounds) {
  Buffer<double> partial((weights.size() + block - 1) / block, "partial degree sums");
  double low = 0x1p-1000, high = 0x1p40;
  for (int step = 0; step < 64; ++step) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    (total_degree(weights, middle, bounds, partial) < edges ? low : high) = middle;
  }
  return high;
}

// Moves the few edges that rounding left over, one per node from the front.
void settle(Buffer<NodeId>& degrees, std::int64_t missing, std::int64_t max_degree) {
  while (missing != 0) {
    for (NodeId& degree : degrees) {
      if (missing == 0) break;
      if (missing > 0 && degree < max_degree) ++degree, --missing;
      if (missing < 0 && degree > 0) --degree, ++missing;
    }
  }
}

}  // namespace

Buffer<NodeId> powerlaw_degrees(std::int64_t nodes, std::int64_t edges, double exponent, std::int64_t max_degree,
                                std::uint64_t seed) {
  const double mean = static_cast<double>(edges) / static_cast<double>(nodes);
  const Bounds bounds{std::min(1.0, mean / 4), static_cast<double>(max_degree)};
  const Buffer<double> weights = draw_weights(nodes, exponent, seed);
  const double scale = find_scale(weights, static_cast<double>(edges), bounds);

  constexpr int fraction_bits = 20;
  Buffer<NodeId> degrees(nodes, "degrees");
  std::uint64_t running = 0, given = 0;
  for (std::int64_t i = 0; i < nodes; ++i) {
    running += static_cast<std::uint64_t>(bounds.degree(weights[i], scale) * 0x1p20);
    const std::uint64_t due = running >> fraction_bits;
    degrees[i] = static_cast<NodeId>(due - given);
    given = due;
  }
  settle(degrees, edges - static_cast<std::int64_t>(given), max_degree);
  return degrees;
}

}  // namespace weft::generator
