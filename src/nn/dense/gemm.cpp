#include "nn/dense/gemm.hpp"

#include <cblas.h>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "core/parallel.hpp"
#include "nn/cuda/blas.hpp"

namespace weft::nn {
namespace {

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
      for (std::int64_t r = begin; r < end; ++r)
        for (std::int64_t i = 0; i < width; ++i)
          to.as<T>()[r * to.ld + i] = convert<T>(from.as<From>()[r * from.ld + i]);
    });
  });
}

}  // namespace

Gemm::Gemm(const Context& context, bool tf32) : threads_(context.threads()) {
  if (context.device().kind == DeviceKind::cuda) {
    blas_ = std::make_unique<cuda::Blas>(context.device(), context.stream(), tf32);
  } else {
    openblas_set_num_threads(threads_);
  }
}
Gemm::~Gemm() = default;

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
