// weft's own products of tall, narrow matrices with weights, on a GPU: many rows, at most 256 columns. cuBLAS computes
// these in f32 1.4 to 2.4 times as slowly (bench/records/h200/dense-products.json) and leaves the passes around them to
// kernels of their own. All arrays are dense and row-major.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/cuda/launcher.hpp"
#include "dense/neighbour_rows.hpp"
#include "weft/tensor.hpp"

namespace weft::dense::cuda {

/// What becomes of a sum on its way to memory, in this order, on the accumulator in f32; rounded once at the end.
struct Epilogue {
  const float* row_scale = nullptr;  // [m] or null: times this
  bool adds = false;                 // plus what is in c
  const float* bias = nullptr;       // [n] or null: plus this
  bool relu = false;                 // NaN stays
  const void* gate = nullptr;        // T [m, n] or null: 0 where it is not above 0, else times gate_scale
  float gate_scale = 1;
  bool saturates = false;  // f16: past its range the largest value, not infinity
};

/// c = epilogue(a b). f32 is multiplied in three products of tf32, which is as exact as f32 itself, but for infinities:
/// they give NaN.
struct ProductArgs {
  Dtype dtype = Dtype::f32;  // T: f32, f16 or bf16
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;     // T [m, k]
  const void* b = nullptr;     // T [k, n]; of any alignment
  bool b_transposed = false;   // b is [n, k]
  void* c = nullptr;           // [m, n], not a, b or gate
  Dtype c_dtype = Dtype::f32;  // T or f32
  Epilogue epilogue = {};
};
/// k and n up to 256 and rows of whole 16 bytes that begin at multiples of 16: others are cuBLAS's.
WEFT_LAUNCHER(bool supported(const ProductArgs& args, Device device));
WEFT_LAUNCHER(void run(const ProductArgs& args, Device device, CUstream_st* stream));

/// The same with rows of a that are made of neighbours' on the way: `args.a` counts for its alignment alone. Whether
/// there is a kernel for it: k and n up to 128, whose weights fit into shared memory beside the queue.
WEFT_LAUNCHER(bool makes_rows(const ProductArgs& args, Device device));
WEFT_LAUNCHER(void run(const ProductArgs& args, const NeighbourRows& rows, Device device, CUstream_st* stream));

/// out = a^T g, the gradient of weights, and if wanted the sum of every column of g, that of a bias. Sums over chunks
/// of rows are added up in order: the bits are the same every time, and on every GPU.
struct OuterArgs {
  Dtype dtype = Dtype::f32;  // T: f32, f16 or bf16
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;       // T [m, k]
  const void* g = nullptr;       // T [m, n]
  float* out = nullptr;          // [k, n]
  float* column_sums = nullptr;  // [n] or null
  void* workspace = nullptr;     // workspace_bytes(args), at a multiple of 16
};
WEFT_LAUNCHER(bool supported(const OuterArgs& args, Device device));
WEFT_LAUNCHER(std::size_t workspace_bytes(const OuterArgs& args));
WEFT_LAUNCHER(void run(const OuterArgs& args, Device device, CUstream_st* stream));

}  // namespace weft::dense::cuda
