// Products of dense matrices on a CPU. How a product is cut into tasks, and in which order an element's terms are
// added, follows from its sizes alone: any number of threads gives the same bits, and so does every instruction set
// that has a fused multiply-add.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dense/neighbour_rows.hpp"
#include "weft/context.hpp"
#include "weft/types.hpp"

namespace weft::dense::cpu {

/// Row-major; `transposed`: element (i, j) of the operand stands at (j, i).
struct DenseOperand {
  const void* data = nullptr;
  std::int64_t ld = 0;  // elements from one row to the next
  bool transposed = false;
};

/// c [m, n] = a [m, k] b [k, n], or with `adds` c + a b. a and b are of one storage type, c of that or of the type it
/// is accumulated in. The result of halves is rounded once.
struct ProductArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t m = 0, n = 0, k = 0;
  DenseOperand a, b;
  void* c = nullptr;
  std::int64_t c_ld = 0;
  Dtype c_dtype = Dtype::f32;
  bool adds = false;
  int threads = 1;
  bool makes_rows = false;  // a is made of something else, block by block
  bool finishes = false;    // something is left to do with c's sums before they are rounded
};

/// Exact bytes that `product` carves.
std::size_t product_workspace(const ProductArgs& args);
void product(const ProductArgs& args, Arena arena);

/// What becomes of a product's sums before they are rounded, in this order; gate and bias are dense.
struct ProductFinish {
  const void* bias = nullptr;  // Acc [n] or null
  bool relu = false;
  const void* gate = nullptr;  // T [m, n] or null: 0 where it is not above 0, else times gate_scale
  float gate_scale = 1;
  bool saturates = false;  // f16: past its range the largest value
  bool given() const { return bias != nullptr || relu || gate != nullptr || saturates; }
};
/// c = finish(a b), a being untransposed; args.finishes is set.
void product(const ProductArgs& args, const ProductFinish& finish, Arena arena);
/// c = finish(a b) where a's rows are sums over neighbours, made a block at a time in memory that stays in the second
/// cache. `args.a` counts for nothing; args.makes_rows and args.finishes are set.
std::size_t neighbour_product_workspace(const ProductArgs& args, const NeighbourRows& rows);
void neighbour_product(const ProductArgs& args, const NeighbourRows& rows, const ProductFinish& finish, Arena arena);

}  // namespace weft::dense::cpu
