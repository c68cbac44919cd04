// Dense passes of the backward and of checks on a GPU, one thread an element. Storage types are looked at when the
// kernel runs, so one compiled kernel an accumulator type serves them all.
#pragma once

#include <cstdint>

#include "core/cuda/launcher.hpp"
#include "kernels/signatures.hpp"

namespace weft::cuda {

/// out = a op b, element by element, in the accumulator type of `out`; b is `factor` where it is not given. `out` may
/// be `a` itself.
struct CombineArgs {
  std::int64_t rows = 0, heads = 1, width = 1;  // of out
  Operand a, b;
  SddmmOp op = SddmmOp::mul;
  double factor = 1;
  Result out;
};
WEFT_LAUNCHER(void combine(const CombineArgs& args, Device device, CUstream_st* stream));

/// Sums over the dimensions of x that `out` does not have, in float64; a dimension of 1 that it has wider is repeated.
struct ReduceToArgs {
  std::int64_t rows = 0;
  std::int64_t from_heads = 1, from_width = 1;
  std::int64_t heads = 1, width = 1;  // of out
  Operand x;                          // its row_stride counts; heads and features are side by side
  Result out;
};
WEFT_LAUNCHER(void reduce_to(const ReduceToArgs& args, Device device, CUstream_st* stream));

/// The first features of every head of x, and zeros behind them where out has wider ones. Of one type of 2 or 4 bytes.
struct CopyHeadsArgs {
  std::int64_t rows = 0, heads = 1;
  std::int64_t from_width = 1, to_width = 1;
  Operand x;  // of heads side by side
  Result out;
};
WEFT_LAUNCHER(void copy_heads(const CopyHeadsArgs& args, Device device, CUstream_st* stream));

/// out[row] = scale[row], or 1, over the row's number of edges where there are any.
struct RowNormArgs {
  const EdgeId* offsets = nullptr;
  std::int64_t rows = 0;
  Operand scale;
  Result out;
};
WEFT_LAUNCHER(void row_norms(const RowNormArgs& args, Device device, CUstream_st* stream));

/// out[k] = the gradient of edge k's row, over the row's number of edges for a mean: the backward of segments.
struct SpreadArgs {
  GraphView graph;         // offsets and rows
  std::int64_t width = 1;  // elements of a row of out
  bool mean = false;
  Operand row_grad;
  Result out;
};
WEFT_LAUNCHER(void spread(const SpreadArgs& args, Device device, CUstream_st* stream));

/// *first becomes twice the number of the first element of x, of rows x width, that is not finite, and one more if that
/// is a NaN; it stays what it was where there is none.
struct FirstNotFiniteArgs {
  std::int64_t rows = 0, width = 1;
  Operand x;  // its row_stride counts; heads and features are side by side
  std::int64_t* first = nullptr;
};
WEFT_LAUNCHER(void first_not_finite(const FirstNotFiniteArgs& args, Device device, CUstream_st* stream));

/// Whether what is put into the stream is recorded in a CUDA graph: nobody may wait for it then.
WEFT_LAUNCHER(bool is_captured(Device device, CUstream_st* stream));

}  // namespace weft::cuda
