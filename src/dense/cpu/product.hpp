// Products of dense matrices on a CPU. How a product is cut into tasks, and in which order an element's terms are
// added, follows from its sizes alone: any number of threads gives the same bits, and so does every instruction set
// that has a fused multiply-add.
#pragma once

#include <cstddef>
#include <cstdint>

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
};

/// Exact bytes that `product` carves.
std::size_t product_workspace(const ProductArgs& args);
void product(const ProductArgs& args, Arena arena);

}  // namespace weft::dense::cpu
