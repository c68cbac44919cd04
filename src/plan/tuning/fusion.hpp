// Where sums over neighbours are made on the way into the product that follows them.
#pragma once

#include <cstdint>

#include "weft/types.hpp"

namespace weft::tuning {

/// What counts for it: of a graph, and of the product.
struct FusionCase {
  DeviceKind device = DeviceKind::cpu;
  std::int64_t rows = 0, edges = 0;
  std::int64_t longest_row = 0;  // edges
  std::int64_t in = 0, out = 0;  // columns of the sums and of the result
  Dtype dtype = Dtype::f32;
  bool scaled = false;     // edges have values, or sources scales
  bool stored = false;     // the sums are stored as well, and in two kernels would need no pass between them
  bool adds_self = false;  // a row's own counts, too
};

/// Fusing saves that the sums are written and read again, which counts beside the rows of neighbours that are read
/// where those are few. It has its price: a block of rows is one warp's or one thread's, so that a long row makes the
/// others of its block wait. On a CPU it takes 0.5 to 1.05 of the time of both (2 threads, molecules, 32 to 128
/// columns), on an H200 0.81 to 0.90 for molecules of up to 64 columns; of 128 it takes 0.97 to 1.8 times as long
/// (bench/records/h200/fused.json). A GPU's kernel has room for 64 edges of 16 rows, or for 48 and their own; tiles
/// with more are added up from memory, which is slow, and must be few.
constexpr bool fusion_pays(const FusionCase& c) {
  if (c.rows == 0 || c.in < 16 || c.out < 16) return false;
  const double degree = static_cast<double>(c.edges) / static_cast<double>(c.rows);
  if (c.device == DeviceKind::cpu) return degree <= 16 && c.longest_row <= 1024 && c.in <= 256 && c.out <= 256;
  const bool wide = c.dtype == Dtype::f32;
  if (c.scaled && !wide && c.in <= 32) return false;
  if (c.stored && wide && c.in > 32) return false;
  const double most_degree = c.adds_self ? 2.25 : 2.5;  // 36 of 48 slots, 40 of 64
  return degree <= most_degree && c.longest_row <= 16 && c.in >= 32 && c.in <= 64 && c.out <= 64;
}

/// Edges of a row that a GPU's fused kernel adds up in sequence within the bound of all sums, and counts in 16 bits for
/// all rows of a tile.
inline constexpr std::int64_t most_fused_row = 512;

}  // namespace weft::tuning
