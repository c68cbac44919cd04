#include "nn/dense/gemm.hpp"

#include <cblas.h>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "core/parallel.hpp"
#include "nn/cuda/blas.hpp"
#include "nn/cuda/product.hpp"

namespace weft::nn {
namespace {

constexpr std::int64_t least_own_rows = 4096;  // below, a launch is all that counts, and cuBLAS splits sums over k

struct Sizes {
  std::int64_t m, n, k;
};

Sizes sizes_of(ConstTensorView a, Transposed a_as, ConstTensorView b, Transposed b_as, ConstTensorView c) {
  const auto rows = [](ConstTensorView v, Transposed as) {
    return as == Transposed::yes ? v.shape.row_size() : v.shape.rows;
  };
  const auto cols = [](ConstTensorView v, Transposed as) {
    return as == Transposed::yes ? v.shape.rows : v.shape.row_size();
  };
  const Sizes sizes{rows(a, a_as), cols(b, b_as), cols(a, a_as)};
  WEFT_CHECK(rows(b, b_as) == sizes.k && c.shape.rows == sizes.m && c.shape.row_size() == sizes.n, internal,
             "a product of {} and {} into {}: sizes do not fit", to_string(a.shape), to_string(b.shape),
             to_string(c.shape));
  return sizes;
}

template <class T>
void copy_rows(ConstTensorView from, TensorView to, int threads) {
  with_floating(from.dtype, "a matrix", [&](auto tag) {
    using From = typename decltype(tag)::type;
    const std::int64_t width = from.shape.row_size();
    parallel_ranges(threads, from.shape.rows, 1 + (1 << 14) / (width + 1), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const From* const x = from.as<From>() + r * from.ld;
        T* const out = to.as<T>() + r * to.ld;
        for (std::int64_t i = 0; i < width; ++i) out[i] = convert<T>(x[i]);
      }
    });
  });
}

}  // namespace

Gemm::Gemm(const Context& context, bool tf32)
    : device_(context.device()), stream_(context.stream()), threads_(context.threads()), tf32_(tf32) {
  if (context.device().kind == DeviceKind::cuda) {
    blas_ = std::make_unique<cuda::Blas>(context.device(), context.stream(), tf32);
  } else {
    openblas_set_num_threads(threads_);
  }
}
Gemm::~Gemm() = default;

bool Gemm::own(Dtype dtype, std::int64_t rows, std::int64_t in, std::int64_t out) const {
  if (blas_ == nullptr || tf32_ || dtype == Dtype::f64 || rows < least_own_rows) return false;
  // Whatever is multiplied here is aligned as tensors are.
  alignas(64) static std::byte aligned[64];
  cuda::ProductArgs forward{dtype, rows, out, in, aligned, aligned, false, aligned, dtype};
  cuda::ProductArgs backward{dtype, rows, in, out, aligned, aligned, true, aligned, dtype};
  cuda::OuterArgs weights{dtype, rows, out, in, aligned, aligned, nullptr, nullptr, aligned};
  return cuda::supported(forward, device_) && cuda::supported(backward, device_) && cuda::supported(weights, device_);
}

void Gemm::reserve(Dtype dtype, std::int64_t rows, std::int64_t in, std::int64_t out) {
  cuda::OuterArgs weights;
  weights.dtype = dtype;
  weights.m = rows;
  weights.n = out;
  weights.k = in;
  const auto words = static_cast<std::int64_t>((cuda::workspace_bytes(weights) + 7) / 8);
  if (!partial_ || partial_.shape().rows < words)
    partial_ = Tensor::empty(Shape(words), Dtype::i64, "sums over chunks of rows", device_, stream_);
}

void Gemm::multiply(ConstTensorView a, ConstTensorView b, Transposed b_as, TensorView c, const Finish& finish) {
  const auto [m, n, k] = sizes_of(a, Transposed::no, b, b_as, c);
  if (m == 0) return;
  cuda::ProductArgs args{a.dtype, m, n, k, a.data, b.data, b_as == Transposed::yes, c.mutable_data(), c.dtype};
  args.epilogue.adds = finish.adds;
  if (finish.bias.given) args.epilogue.bias = finish.bias.as<float>();
  args.epilogue.relu = finish.relu;
  if (finish.gate.given) args.epilogue.gate = finish.gate.data;
  args.epilogue.gate_scale = finish.gate_scale;
  args.epilogue.saturates = finish.saturates;
  cuda::run(args, device_, stream_);
}

void Gemm::outer(ConstTensorView a, ConstTensorView g, TensorView c, TensorView bias_grad) {
  const auto [m, n, k] = sizes_of(a, Transposed::yes, g, Transposed::no, c);
  cuda::OuterArgs args{a.dtype, k, n, m, a.data, g.data, c.as<float>(), nullptr, partial_.view().mutable_data()};
  if (bias_grad.given) args.column_sums = bias_grad.as<float>();
  cuda::run(args, device_, stream_);
}

void Gemm::operator()(ConstTensorView a, Transposed a_as, ConstTensorView b, Transposed b_as, TensorView c, bool adds) {
  const auto [m, n, k] = sizes_of(a, a_as, b, b_as, c);
  if (m == 0 || n == 0) return;
  if (blas_ != nullptr)
    return blas_->multiply(m, n, k, a, a_as == Transposed::yes, b, b_as == Transposed::yes, c, adds);
  on_cpu(a, a_as, b, b_as, c, adds);
}

ConstTensorView Gemm::wide(ConstTensorView view, Tensor& copy) {
  if (view.dtype == Dtype::f32 || view.dtype == Dtype::f64) return view;
  if (!copy || copy.shape() != view.shape) copy = Tensor::empty(view.shape, Dtype::f32, "a matrix in f32");
  copy_rows<float>(view, copy, threads_);
  return copy;
}

void Gemm::on_cpu(ConstTensorView a, Transposed a_as, ConstTensorView b, Transposed b_as, TensorView c, bool adds) {
  const auto [m, n, k] = sizes_of(a, a_as, b, b_as, c);
  const auto size = [](std::int64_t value) {
    WEFT_CHECK(value <= std::numeric_limits<blasint>::max(), unsupported,
               "a matrix has {} rows or columns: expected fewer than 2^31", value);
    return static_cast<blasint>(value);
  };
  const auto as = [](Transposed t) { return t == Transposed::yes ? CblasTrans : CblasNoTrans; };
  if (a.dtype == Dtype::f64) {
    cblas_dgemm(CblasRowMajor, as(a_as), as(b_as), size(m), size(n), size(k), 1, a.as<double>(), size(a.ld),
                b.as<double>(), size(b.ld), adds ? 1 : 0, c.as<double>(), size(c.ld));
    return;
  }
  const ConstTensorView left = wide(a, a_copy_), right = wide(b, b_copy_);
  TensorView out = c;
  if (c.dtype != Dtype::f32) {
    if (adds || !c_copy_ || c_copy_.shape() != c.shape) wide(c, c_copy_);
    out = c_copy_;
  }
  cblas_sgemm(CblasRowMajor, as(a_as), as(b_as), size(m), size(n), size(k), 1, left.as<float>(), size(left.ld),
              right.as<float>(), size(right.ld), adds ? 1 : 0, out.as<float>(), size(out.ld));
  if (c.dtype == Dtype::f16) copy_rows<Half>(out, c, threads_);
  if (c.dtype == Dtype::bf16) copy_rows<BFloat16>(out, c, threads_);
}

}  // namespace weft::nn
