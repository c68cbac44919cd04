#include "kernels/cuda/elementwise/elementwise.hpp"

#include "core/cuda/storage.cuh"
#include "core/loops/cuda/each.cuh"
#include "kernels/semantics.hpp"

namespace weft::cuda {
namespace {

/// Row, head and feature of element i of a dense tensor; 64-bit division only where the numbers need it.
struct Place {
  std::int64_t row;
  std::uint32_t in_row, head, feature;

  __device__ Place(std::int64_t i, std::int64_t heads, std::int64_t width) {
    const std::int64_t size = heads * width;
    if (static_cast<std::uint64_t>(i) >> 32 == 0) {
      row = static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(size);
    } else {
      row = i / size;
    }
    in_row = static_cast<std::uint32_t>(i - row * size);
    head = in_row / static_cast<std::uint32_t>(width);
    feature = in_row - head * static_cast<std::uint32_t>(width);
  }
};

template <class Acc>
__device__ Acc load(const Operand& o, const Place& at) {
  return load_as<Acc>(o.dtype, o.data, at.row * o.row_stride + at.head * o.head_stride + at.feature * o.feature_stride);
}

template <class Acc>
struct CombineElement {
  CombineArgs args;
  bool binary;
  __device__ void operator()(std::int64_t i) const {
    const Place at(i, args.heads, args.width);
    const Acc a = load<Acc>(args.a, at);
    const Acc b = binary ? load<Acc>(args.b, at) : static_cast<Acc>(args.factor);
    const Acc value =
        semantics::with_meaning(args.op, [&](auto meaning) { return decltype(meaning)::Value::of(a, b); });
    store_as(args.out.dtype, args.out.data, at.row * args.out.row_stride + at.in_row, value);
  }
};

struct ReduceElement {
  ReduceToArgs args;
  /// First and number of the positions of a dimension of `from` that make up position `at` of one of `size`.
  struct Range {
    std::int64_t first, count;
    __device__ Range(std::int64_t at, std::int64_t size, std::int64_t from)
        : first(size == 1 || from == 1 ? 0 : at), count(size == 1 ? from : 1) {}
  };
  __device__ void operator()(std::int64_t i) const {
    const Place at(i, args.heads, args.width);
    const Range heads(at.head, args.heads, args.from_heads), width(at.feature, args.width, args.from_width);
    double sum = 0;
    for (std::int64_t h = heads.first; h < heads.first + heads.count; ++h)
      for (std::int64_t f = width.first; f < width.first + width.count; ++f)
        sum += load_as<double>(args.x.dtype, args.x.data, at.row * args.x.row_stride + h * args.from_width + f);
    store_as(args.out.dtype, args.out.data, at.row * args.out.row_stride + at.in_row, sum);
  }
};

template <class Acc>
__device__ Acc edges_of(const EdgeId* offsets, std::int64_t row) {
  return static_cast<Acc>(offsets[row + 1] - offsets[row]);
}

template <class Acc>
struct RowNorm {
  RowNormArgs args;
  bool scaled;
  __device__ void operator()(std::int64_t row) const {
    const Acc scale = scaled ? load_as<Acc>(args.scale.dtype, args.scale.data, row * args.scale.row_stride) : Acc{1};
    const Acc edges = edges_of<Acc>(args.offsets, row);
    store_as(args.out.dtype, args.out.data, row * args.out.row_stride, scale / (edges > 0 ? edges : Acc{1}));
  }
};

template <class Acc>
struct SpreadElement {
  SpreadArgs args;
  __device__ void operator()(std::int64_t i) const {
    const Place at(i, 1, args.width);
    const NodeId row = args.graph.rows[at.row];
    const Operand& grad = args.row_grad;
    const Acc value = load_as<Acc>(grad.dtype, grad.data, row * grad.row_stride + at.in_row);
    const Acc edges = args.mean ? edges_of<Acc>(args.graph.offsets, row) : Acc{1};
    store_as(args.out.dtype, args.out.data, at.row * args.out.row_stride + at.in_row, value / edges);
  }
};

struct NotFinite {
  FirstNotFiniteArgs args;
  __device__ void operator()(std::int64_t i) const {
    const Place at(i, 1, args.width);
    const auto value = load_as<double>(args.x.dtype, args.x.data, at.row * args.x.row_stride + at.in_row);
    if (isfinite(value)) return;
    const std::int64_t code = 2 * i + (isnan(value) ? 1 : 0);
    atomicMin(reinterpret_cast<unsigned long long*>(args.first), static_cast<unsigned long long>(code));
  }
};

/// f(Acc{}) with the type results of `dtype` are computed in.
template <class F>
void with_accumulator(Dtype dtype, F&& f) {
  if (dtype == Dtype::f64) {
    f(double{});
  } else {
    f(float{});
  }
}

}  // namespace

void combine(const CombineArgs& args, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  with_accumulator(args.out.dtype, [&](auto acc) {
    each(args.rows * args.heads * args.width, stream, "combining tensors element by element",
         CombineElement<decltype(acc)>{args, args.b.given()});
  });
}

void reduce_to(const ReduceToArgs& args, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  each(args.rows * args.heads * args.width, stream, "summing a gradient over what was broadcast", ReduceElement{args});
}

void row_norms(const RowNormArgs& args, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  with_accumulator(args.out.dtype, [&](auto acc) {
    each(args.rows, stream, "writing degree norms", RowNorm<decltype(acc)>{args, args.scale.given()});
  });
}

void spread(const SpreadArgs& args, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  with_accumulator(args.out.dtype, [&](auto acc) {
    each(args.graph.num_edges * args.width, stream, "spreading the gradients of segments",
         SpreadElement<decltype(acc)>{args});
  });
}

void first_not_finite(const FirstNotFiniteArgs& args, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  each(args.rows * args.width, stream, "looking for values that are not finite", NotFinite{args});
}

bool is_captured(Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t asked = cudaStreamIsCapturing(stream, &status);
  if (asked == cudaErrorStreamCaptureImplicit) return true;  // the default stream, while another one is captured
  check_status(asked, "asking whether a stream is captured");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace weft::cuda
