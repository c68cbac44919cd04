// weft_dense_products [ROWS...]: dense products of the models' shapes on a GPU, weft's own kernels beside cuBLAS as
// weft calls it and cublasLt's fastest algorithm. One line of JSON a product: microseconds, and the largest error of
// sampled results against float64, in units of what the sum of the products' magnitudes allows (2^-24 for f32 and the
// storage type's rounding). `taken` is what weft::nn takes for it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "bench/dense/lt_product.hpp"
#include "dense/gemm.hpp"
#include "dense/passes.hpp"

namespace weft::bench {
namespace {

using dense::Transposed;

const Device gpu{DeviceKind::cuda, 0};

/// Random numbers, of which a few thousand rows repeat.
Tensor filled(Shape shape, Dtype dtype, unsigned seed) {
  const std::int64_t repeats = std::min<std::int64_t>(shape.rows, 4096);
  Tensor numbers = Tensor::empty(Shape(repeats, shape.row_size()), Dtype::f32);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : numbers.span<float>()) value = uniform(random);
  const Tensor host = numbers.to(dtype);
  Tensor made = Tensor::empty(shape, dtype, "operand", gpu);
  auto* const to = static_cast<std::byte*>(made.view().mutable_data());
  for (std::size_t at = 0; at < made.bytes(); at += host.bytes())
    cudaMemcpy(to + at, host.view().data, std::min(host.bytes(), made.bytes() - at), cudaMemcpyHostToDevice);
  return made;
}

/// `count` elements of a matrix on the GPU from (row, col) on, `down` its column or along its row, as doubles.
std::vector<double> elements(ConstTensorView view, std::int64_t row, std::int64_t col, bool down, std::int64_t count) {
  const std::size_t size = size_of(view.dtype);
  const auto* from = static_cast<const std::byte*>(view.data) + static_cast<std::size_t>(row * view.ld + col) * size;
  Tensor taken = Tensor::empty(Shape(count), view.dtype);
  cudaMemcpy2D(taken.view().mutable_data(), size, from, (down ? static_cast<std::size_t>(view.ld) : 1) * size, size,
               static_cast<std::size_t>(count), cudaMemcpyDeviceToHost);
  const Tensor values = taken.to(Dtype::f64);
  return {values.span<double>().begin(), values.span<double>().end()};
}

/// Microseconds of one call: the fastest of three series.
double time_of(cudaStream_t stream, const std::function<void()>& call, int calls = 10) {
  cudaEvent_t begin = nullptr, end = nullptr;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  call();
  float best = INFINITY;
  for (int series = 0; series < 3; ++series) {
    cudaEventRecord(begin, stream);
    for (int i = 0; i < calls; ++i) call();
    cudaEventRecord(end, stream);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    best = std::min(best, ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return 1e3 * static_cast<double>(best) / calls;
}

/// A product with what rides in it, in the three ways it can be had.
struct Product {
  std::string name;
  LtProduct::Operand a, b;
  TensorView c;
  std::optional<ConstTensorView> bias;  // added before ReLU
  TensorView bias_grad = {};            // the sums of b's columns
  std::function<void()> own, blas;
  bool own_is_taken = false;
};

class Bench {
 public:
  void measure(std::int64_t rows, std::int64_t in, std::int64_t out, Dtype dtype, bool tf32) {
    dense::Gemm gemm(context_, tf32);
    const Tensor x = filled(Shape(rows, in), dtype, 1), weight = filled(Shape(in, out), dtype, 2),
                 grad = filled(Shape(rows, out), dtype, 3), bias = filled(Shape(out), Dtype::f32, 4);
    Tensor y = Tensor::zeros(Shape(rows, out), dtype, "y", gpu),
           x_grad = Tensor::zeros(Shape(rows, in), dtype, "", gpu),
           weight_grad = Tensor::zeros(Shape(in, out), Dtype::f32, "weights' gradient", gpu),
           bias_grad = Tensor::zeros(Shape(out), Dtype::f32, "bias's gradient", gpu),
           scratch = Tensor::zeros(Shape(static_cast<std::int64_t>(dense::fold_bytes(rows, out, 1)) / 8 + 1),
                                   Dtype::i64, "scratch", gpu);
    const bool own = gemm.own(dtype, rows, in, out), wide = dtype == Dtype::f32;
    if (own) gemm.reserve(dtype, rows, in, out);

    dense::ActivateArgs activate;
    activate.dtype = dtype;
    activate.rows = rows;
    activate.width = out;
    activate.x = y.view().data;
    activate.bias = bias.view().data;
    activate.activation = Activation::relu;
    activate.out = y.view().mutable_data();
    dense::ActivateBackwardArgs sums;
    sums.dtype = dtype;
    sums.rows = rows;
    sums.width = out;
    sums.out_grad = grad.view().data;
    sums.bias_grad = bias_grad.view().mutable_data();
    sums.scratch = scratch.view().mutable_data();

    dense::Finish finish;
    finish.bias = bias;
    finish.relu = true;
    const auto product = [&](auto... arguments) { return [&gemm, arguments...] { gemm(arguments...); }; };
    const auto multiply = [&](ConstTensorView a, Transposed b_as, TensorView c, const dense::Finish& with) {
      return [&, a, b_as, c, with] { gemm.multiply(a, weight, b_as, c, with); };
    };
    const auto forward = product(ConstTensorView(x), Transposed::no, ConstTensorView(weight), Transposed::no, y.view());
    const auto outer =
        product(ConstTensorView(x), Transposed::yes, ConstTensorView(grad), Transposed::no, weight_grad.view());
    const LtProduct::Operand plain_x{x, false}, plain_weight{weight, false}, plain_grad{grad, false};
    const Product products[] = {
        {"x W", plain_x, plain_weight, y, {}, {}, multiply(x, Transposed::no, y, {}), forward, wide},
        {"relu(x W + b)",
         plain_x,
         plain_weight,
         y,
         bias,
         {},
         multiply(x, Transposed::no, y, finish),
         [&] { forward(), run(context_, activate); },
         true},
        {"g W^T",
         plain_grad,
         {weight, true},
         x_grad,
         {},
         {},
         multiply(grad, Transposed::yes, x_grad, {}),
         product(ConstTensorView(grad), Transposed::no, ConstTensorView(weight), Transposed::yes, x_grad.view()),
         wide},
        {"x^T g",
         {x, true},
         plain_grad,
         weight_grad,
         {},
         {},
         [&] { gemm.outer(x, grad, weight_grad, {}); },
         outer,
         wide},
        {"x^T g, sum of g",
         {x, true},
         plain_grad,
         weight_grad,
         {},
         bias_grad,
         [&] { gemm.outer(x, grad, weight_grad, bias_grad); },
         [&] { outer(), run(context_, sums); },
         true},
    };
    for (const Product& each : products) report(each, rows, in, out, tf32 ? "tf32" : std::string(name(dtype)), own);
  }

 private:
  void report(const Product& product, std::int64_t rows, std::int64_t in, std::int64_t out, const std::string& type,
              bool own) {
    std::map<std::string, std::string> line;
    const auto note = [&](const std::string& way, double us) {
      line[way + "_us"] = fmt::format("{:.2f}", us);
      line[way + "_error"] = fmt::format("{:.2f}", error(product, type));
    };
    const auto measured = [&](const std::string& way, const std::function<void()>& call) {
      clear(product.c);
      const double us = time_of(context_.stream(), call);
      note(way, us);
    };
    if (own) measured("own", product.own);
    measured("cublas", product.blas);
    if (const auto us = lt(product, type == "tf32")) note("lt", *us);
    fmt::print("{{\"product\": \"{}\", \"dtype\": \"{}\", \"rows\": {}, \"in\": {}, \"out\": {}, \"taken\": \"{}\"",
               product.name, type, rows, in, out, own && product.own_is_taken ? "own" : "cublas");
    for (const auto& [key, value] : line) fmt::print(", \"{}\": {}", key, value);
    fmt::print("}}\n");
    std::fflush(stdout);
  }

  static void clear(TensorView view) {
    cudaMemset(view.mutable_data(), 0x7f, static_cast<std::size_t>(view.shape.size() * size_of(view.dtype)));
  }

  /// The fastest algorithm's time; none where cublasLt has none with this epilogue.
  std::optional<double> lt(const Product& product, bool tf32) {
    // A bias has the result's type here; nothing is converted in what is timed.
    Tensor bias;
    if (product.bias) {
      Tensor host = Tensor::empty(product.bias->shape, Dtype::f32);
      cudaMemcpy(host.view().mutable_data(), product.bias->data, host.bytes(), cudaMemcpyDeviceToHost);
      bias = host.to(product.c.dtype).to(gpu);
    }
    void* const beside = product.bias              ? bias.view().mutable_data()
                         : product.bias_grad.given ? product.bias_grad.mutable_data()
                                                   : nullptr;
    const LtProduct peer(product.a, product.b, product.c, tf32, beside, product.bias_grad.given);
    std::optional<double> best;
    std::size_t fastest = 0;
    for (std::size_t i = 0; i < peer.algorithms(); ++i) {
      if (!peer.run(i, context_.stream())) continue;
      const double us = time_of(
          context_.stream(), [&] { peer.run(i, context_.stream()); }, 2);
      if (!best || us < *best) best = us, fastest = i;
    }
    if (!best) return {};
    clear(product.c);
    return time_of(context_.stream(), [&] { peer.run(fastest, context_.stream()); });
  }

  /// Of sampled results, over the error that is allowed.
  double error(const Product& product, const std::string& type) {
    cudaStreamSynchronize(context_.stream());
    const auto at = [](const LtProduct::Operand& operand, std::int64_t i, bool by_rows) {
      const bool along_row = by_rows != operand.transposed;
      return elements(operand.view, along_row ? i : 0, along_row ? 0 : i, !along_row,
                      along_row ? operand.view.shape.row_size() : operand.view.shape.rows);
    };
    const double unit = type == "tf32" ? 0x1p-10 : 0x1p-21;
    const double rounding = product.c.dtype == Dtype::f16 ? 0x1p-11 : product.c.dtype == Dtype::bf16 ? 0x1p-8 : 0x1p-24;
    double worst = 0;
    for (int sample = 0; sample < 6; ++sample) {
      const auto row = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(product.c.shape.rows)),
                 col = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(product.c.shape.row_size()));
      const std::vector<double> a = at(product.a, row, true), b = at(product.b, col, false);
      double sum = 0, magnitude = 0;
      for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i], magnitude += std::abs(a[i] * b[i]);
      if (product.bias) sum = std::max(0.0, sum + elements(*product.bias, 0, col, false, 1)[0]);
      const double got = elements(product.c, row, col, false, 1)[0];
      const double bias_rounding = product.bias ? 2 * rounding : 0;  // cublasLt's bias has the result's type
      const double bound = unit * magnitude + rounding * std::abs(sum) + bias_rounding;
      worst = std::max(worst, std::isnan(got) ? INFINITY : std::abs(got - sum) / bound);
    }
    return worst;
  }

  Context context_{Context::cuda(0)};
  std::mt19937_64 random_{5};
};

}  // namespace
}  // namespace weft::bench

int main(int count, char** arguments) try {
  using weft::Dtype;
  std::vector<std::int64_t> rows;
  for (int i = 1; i < count; ++i) rows.push_back(std::stoll(arguments[i]));
  if (rows.empty()) rows = {2708, 169343, 2449029};
  // Layers of the models on cora, arxiv, products, reddit: features and classes of the data, hidden 16 to 256.
  constexpr std::int64_t shapes[][2] = {{64, 40},  {64, 64},   {100, 64},  {128, 64},  {128, 128},
                                        {256, 48}, {256, 256}, {256, 512}, {602, 128}, {1433, 16}};
  weft::bench::Bench bench;
  for (const std::int64_t m : rows)
    for (const auto& [in, out] : shapes) {
      if (m > 200000 && in > 1000) continue;
      for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) bench.measure(m, in, out, dtype, false);
      bench.measure(m, in, out, Dtype::f32, true);
    }
} catch (const std::exception& error) {
  fmt::print(stderr, "weft_dense_products: {}\n", error.what());
  return 1;
}
