#include "dense/gemm.hpp"

#include "core/check.hpp"
#include "core/operator_timer.hpp"
#include "dense/cpu/product.hpp"
#include "dense/cuda/blas.hpp"
#include "dense/cuda/product.hpp"
#include "plan/tuning/fusion.hpp"

namespace weft::dense {
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

cuda::Epilogue epilogue_of(const Finish& finish) {
  cuda::Epilogue epilogue;
  epilogue.adds = finish.adds;
  if (finish.bias.given) epilogue.bias = finish.bias.as<float>();
  epilogue.relu = finish.relu;
  if (finish.gate.given) epilogue.gate = finish.gate.data;
  epilogue.gate_scale = finish.gate_scale;
  epilogue.saturates = finish.saturates;
  return epilogue;
}

cpu::ProductFinish finish_on_cpu(const Finish& finish) {
  return {finish.bias.given ? finish.bias.data : nullptr, finish.relu, finish.gate.given ? finish.gate.data : nullptr,
          finish.gate_scale, finish.saturates};
}

}  // namespace

Gemm::Gemm(const Context& context, bool tf32)
    : context_(context),
      device_(context.device()),
      stream_(context.stream()),
      threads_(context.threads()),
      tf32_(tf32) {
  if (context.device().kind == DeviceKind::cuda)
    blas_ = std::make_unique<cuda::Blas>(context.device(), context.stream(), tf32);
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
  const TimedOperator timed(context_, "dense products");
  const auto [m, n, k] = sizes_of(a, Transposed::no, b, b_as, c);
  if (m == 0) return;
  if (blas_ == nullptr) {
    cpu::ProductArgs args{a.dtype,
                          m,
                          n,
                          k,
                          {a.data, a.ld, false},
                          {b.data, b.ld, b_as == Transposed::yes},
                          c.mutable_data(),
                          c.ld,
                          c.dtype,
                          finish.adds,
                          threads_};
    args.finishes = true;
    return cpu::product(args, finish_on_cpu(finish), workspace(cpu::product_workspace(args)));
  }
  const cuda::ProductArgs args{
      a.dtype, m, n, k, a.data, b.data, b_as == Transposed::yes, c.mutable_data(), c.dtype, epilogue_of(finish)};
  cuda::run(args, device_, stream_);
}

bool Gemm::makes_rows(Dtype dtype, std::int64_t rows, std::int64_t in, std::int64_t out) const {
  if (in < 1 || out < 1) return false;
  if (blas_ == nullptr) return true;
  if (tf32_ && dtype == Dtype::f32) return false;
  alignas(64) static std::byte aligned[64];
  return cuda::makes_rows({dtype, rows, out, in, aligned, aligned, false, aligned, dtype}, device_);
}

void Gemm::multiply(const NeighbourRows& a, ConstTensorView b, Transposed b_as, TensorView c, const Finish& finish) {
  const TimedOperator timed(context_, "sums into products");
  const std::int64_t m = a.graph.num_rows;
  const bool transposed = b_as == Transposed::yes;
  const auto [k, n] =
      transposed ? std::pair(b.shape.row_size(), b.shape.rows) : std::pair(b.shape.rows, b.shape.row_size());
  WEFT_CHECK(c.shape.rows == m && c.shape.row_size() == n, internal,
             "a product of [{}, {}] sums and {} into {}: sizes do not fit", m, k, to_string(b.shape),
             to_string(c.shape));
  if (m == 0) return;
  if (blas_ != nullptr) {
    const EdgeId longest = a.graph.longest_row;
    WEFT_CHECK(longest >= 0 && longest <= tuning::most_fused_row, internal,
               "rows have up to {} edges: expected 0 to {} where a GPU's product makes them; add them up before",
               longest, tuning::most_fused_row);
    const cuda::ProductArgs args{
        b.dtype, m, n, k, a.x, b.data, transposed, c.mutable_data(), c.dtype, epilogue_of(finish)};
    return cuda::run(args, a, device_, stream_);
  }
  cpu::ProductArgs args{b.dtype, m, n, k, {}, {b.data, b.ld, transposed}, c.mutable_data(), c.ld, c.dtype};
  args.adds = finish.adds;
  args.threads = threads_;
  args.makes_rows = args.finishes = true;
  cpu::neighbour_product(args, a, finish_on_cpu(finish), workspace(cpu::neighbour_product_workspace(args, a)));
}

void Gemm::outer(ConstTensorView a, ConstTensorView g, TensorView c, TensorView bias_grad) {
  const TimedOperator timed(context_, "dense products");
  const auto [m, n, k] = sizes_of(a, Transposed::yes, g, Transposed::no, c);
  cuda::OuterArgs args{a.dtype, k, n, m, a.data, g.data, c.as<float>(), nullptr, partial_.view().mutable_data()};
  if (bias_grad.given) args.column_sums = bias_grad.as<float>();
  cuda::run(args, device_, stream_);
}

void Gemm::operator()(ConstTensorView a, Transposed a_as, ConstTensorView b, Transposed b_as, TensorView c, bool adds) {
  const TimedOperator timed(context_, "dense products");
  const auto [m, n, k] = sizes_of(a, a_as, b, b_as, c);
  if (m == 0 || n == 0) return;
  if (blas_ != nullptr)
    return blas_->multiply(m, n, k, a, a_as == Transposed::yes, b, b_as == Transposed::yes, c, adds);
  on_cpu(a, a_as, b, b_as, c, adds);
}

void Gemm::on_cpu(ConstTensorView a, Transposed a_as, ConstTensorView b, Transposed b_as, TensorView c, bool adds) {
  const auto [m, n, k] = sizes_of(a, a_as, b, b_as, c);
  const auto operand = [](ConstTensorView view, Transposed as) {
    return cpu::DenseOperand{view.data, view.ld, as == Transposed::yes};
  };
  const cpu::ProductArgs args{a.dtype,          m,    n,       k,    operand(a, a_as), operand(b, b_as),
                              c.mutable_data(), c.ld, c.dtype, adds, threads_};
  cpu::product(args, workspace(cpu::product_workspace(args)));
}

Arena Gemm::workspace(std::size_t bytes) {
  if (workspace_.bytes() < bytes)
    workspace_ = Tensor::empty(Shape(static_cast<std::int64_t>(bytes / 8 + 1)), Dtype::i64, "blocks of matrices");
  return {static_cast<std::byte*>(workspace_.view().mutable_data()), workspace_.bytes()};
}

}  // namespace weft::dense
