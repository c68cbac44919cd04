// Inputs of spmm_linear and what comes of them by plain loops in float64, with what rounding may change of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/compare.hpp"
#include "support/graphs.hpp"
#include "support/values.hpp"
#include "weft/dense.hpp"

namespace weft::test {

/// Which of spmm_linear's terms a case has.
struct LinearTerms {
  bool edges = false, wide_edges = false;  // values of edges; in accumulators
  bool mean = false, row_scale = false, col_scale = false, self = false, eps = false, rows_bias = false,
       rows_relu = false;
  bool bias = false, relu = false, transposed = false;
};
inline std::string describe(const LinearTerms& t) {
  std::string text;
  const auto add = [&](bool given, const char* name) { text += given ? std::string(" ") + name : ""; };
  add(t.edges, "edges"), add(t.wide_edges, "wide_edges"), add(t.mean, "mean"), add(t.row_scale, "row_scale");
  add(t.col_scale, "col_scale"), add(t.self, "self"), add(t.eps, "eps"), add(t.rows_bias, "rows_bias");
  add(t.rows_relu, "rows_relu"), add(t.bias, "bias"), add(t.relu, "relu"), add(t.transposed, "transposed");
  return text;
}

/// What models ask for, and every term once alone and once among the others.
inline std::vector<LinearTerms> linear_terms() {
  return {{},
          {.edges = true},
          {.edges = true, .wide_edges = true, .col_scale = true},
          {.mean = true, .bias = true},
          {.row_scale = true, .col_scale = true, .relu = true},
          {.self = true, .eps = true, .bias = true, .relu = true},
          {.self = true, .rows_bias = true, .rows_relu = true},
          {.edges = true,
           .mean = true,
           .row_scale = true,
           .col_scale = true,
           .self = true,
           .eps = true,
           .rows_bias = true,
           .rows_relu = true,
           .bias = true,
           .relu = true,
           .transposed = true}};
}

/// A tile of rows of each length up to `longest`, whose first row alone is as long.
inline Graph graph_of_every_longest_row(std::int64_t longest) {
  std::vector<std::int64_t> degrees;
  for (std::int64_t most = 0; most <= longest; ++most)
    for (std::int64_t row = 0; row < 16; ++row)
      degrees.push_back(row == 0 ? most : std::min<std::int64_t>(most, row % 4));
  return battery::graph_of_degrees(degrees, static_cast<std::int64_t>(degrees.size()), 17);
}

/// Tiles of 16 rows with about as many edges as a tile of a GPU has slots for, 64 or 48, in their first rows.
inline Graph graph_of_full_tiles() {
  std::vector<std::int64_t> degrees;
  for (const std::int64_t edges : {47, 48, 49, 63, 64, 65})
    for (const std::int64_t filled : {1, 3, 8, 15})
      for (std::int64_t row = 0; row < 16; ++row)
        degrees.push_back(row < filled ? (row + 1) * edges / filled - row * edges / filled : 0);
  return battery::graph_of_degrees(degrees, static_cast<std::int64_t>(degrees.size()), 21);
}

struct LinearCase {
  LinearTerms terms;
  Dtype dtype;
  Graph graph;
  std::int64_t in, out;
  Tensor x, edge, weight, row_scale, col_scale, eps, rows_bias, bias, out_grad;

  LinearCase(const Graph& of, Dtype type, std::int64_t k, std::int64_t n, const LinearTerms& with, std::uint64_t seed)
      : terms(with), dtype(type), graph(of), in(k), out(n) {
    const Dtype acc = type == Dtype::f64 ? Dtype::f64 : Dtype::f32;
    x = random_tensor(Shape(of.num_cols(), k), type, seed);
    weight = random_tensor(with.transposed ? Shape(n, k) : Shape(k, n), type, seed + 1);
    out_grad = random_tensor(Shape(of.num_rows(), n), type, seed + 2);
    if (with.edges) edge = random_tensor(Shape(of.num_edges()), with.wide_edges ? acc : type, seed + 3);
    if (with.row_scale) row_scale = random_tensor(Shape(of.num_rows()), acc, seed + 4);
    if (with.col_scale) col_scale = random_tensor(Shape(of.num_cols()), acc, seed + 5);
    if (with.eps) eps = random_tensor(Shape(1), acc, seed + 6);
    if (with.rows_bias) rows_bias = random_tensor(Shape(k), acc, seed + 7);
    if (with.bias) bias = random_tensor(Shape(n), acc, seed + 8);
  }
  /// The same on another device.
  LinearCase to(const Context& context) const {
    LinearCase moved(*this, 0);
    const auto move = [&](const Tensor& tensor) {
      return tensor ? tensor.to(context.device(), context.stream()) : Tensor{};
    };
    moved.graph = graph.to(context.device(), context.stream());
    moved.x = move(x), moved.edge = move(edge), moved.weight = move(weight), moved.row_scale = move(row_scale);
    moved.col_scale = move(col_scale), moved.eps = move(eps), moved.rows_bias = move(rows_bias);
    moved.bias = move(bias), moved.out_grad = move(out_grad);
    return moved;
  }
  static ConstTensorView view(const Tensor& tensor) { return tensor ? tensor.view() : ConstTensorView{}; }
  SpmmLinearDesc desc(std::optional<bool> fuse, bool backward = false) const {
    return {dtype, in, out, terms.mean ? Reduce::mean : Reduce::sum, terms.edges, backward, fuse};
  }
  SpmmLinearOptions options() const {
    SpmmLinearOptions o;
    o.rows.row_scale = view(row_scale);
    o.rows.col_scale = view(col_scale);
    o.rows.bias = view(rows_bias);
    o.rows.relu = terms.rows_relu;
    o.add_self = terms.self;
    o.eps = view(eps);
    o.transpose_weight = terms.transposed;
    o.bias = view(bias);
    o.relu = terms.relu;
    return o;
  }

 private:
  LinearCase(const LinearCase& like, int) : terms(like.terms), dtype(like.dtype), in(like.in), out(like.out) {}
};

inline std::vector<double> doubles_of(const Tensor& tensor) {
  if (!tensor) return {};
  const Tensor wide = tensor.to(Dtype::f64);
  return {wide.span<double>().begin(), wide.span<double>().end()};
}

/// Values, and the sum of the magnitudes of all that was added up for each.
struct WithMagnitudes {
  std::vector<double> value, magnitude;
  explicit WithMagnitudes(std::int64_t count)
      : value(static_cast<std::size_t>(count)), magnitude(static_cast<std::size_t>(count)) {}
  void add(std::int64_t i, double term, double size) {
    value[static_cast<std::size_t>(i)] += term;
    magnitude[static_cast<std::size_t>(i)] += std::abs(size);
  }
};

struct LinearExpected {
  WithMagnitudes rows, out;
  WithMagnitudes x_grad, weight_grad;  // without the terms that gradients do not take
};

/// Of a case on the host.
inline LinearExpected expected_linear(const LinearCase& c) {
  const GraphView g = c.graph.host_view();
  const auto x = doubles_of(c.x), weight = doubles_of(c.weight), edge = doubles_of(c.edge),
             row_scale = doubles_of(c.row_scale), col_scale = doubles_of(c.col_scale), eps = doubles_of(c.eps),
             rows_bias = doubles_of(c.rows_bias), bias = doubles_of(c.bias), out_grad = doubles_of(c.out_grad);
  const std::int64_t k = c.in, n = c.out;
  const auto at = [](const std::vector<double>& from, std::int64_t i) { return from[static_cast<std::size_t>(i)]; };
  const auto w = [&](std::int64_t i, std::int64_t j) { return at(weight, c.terms.transposed ? j * k + i : i * n + j); };
  const double self = 1 + (eps.empty() ? 0 : eps[0]);
  LinearExpected e{WithMagnitudes(g.num_rows * k), WithMagnitudes(g.num_rows * n), WithMagnitudes(g.num_cols * k),
                   WithMagnitudes(k * n)};
  WithMagnitudes sums(g.num_cols * n);  // of out_grad against the edges
  for (std::int64_t v = 0; v < g.num_rows; ++v) {
    const EdgeId degree = g.offsets[v + 1] - g.offsets[v];
    const double scale = (row_scale.empty() ? 1 : at(row_scale, v)) / (c.terms.mean && degree > 0 ? degree : 1);
    for (EdgeId at_edge = g.offsets[v]; at_edge < g.offsets[v + 1]; ++at_edge) {
      const NodeId u = g.cols[at_edge];
      const double factor =
          scale * (edge.empty() ? 1 : at(edge, g.edge_id(at_edge))) * (col_scale.empty() ? 1 : at(col_scale, u));
      for (std::int64_t i = 0; i < k; ++i) e.rows.add(v * k + i, factor * at(x, u * k + i), factor * at(x, u * k + i));
      for (std::int64_t j = 0; j < n; ++j)
        sums.add(u * n + j, factor * at(out_grad, v * n + j), factor * at(out_grad, v * n + j));
    }
    if (c.terms.self && v < g.num_cols) {
      for (std::int64_t i = 0; i < k; ++i) e.rows.add(v * k + i, self * at(x, v * k + i), self * at(x, v * k + i));
      for (std::int64_t j = 0; j < n; ++j)
        sums.add(v * n + j, self * at(out_grad, v * n + j), self * at(out_grad, v * n + j));
    }
    for (std::int64_t i = 0; i < k; ++i) {
      if (!rows_bias.empty()) e.rows.add(v * k + i, at(rows_bias, i), at(rows_bias, i));
      double& row = e.rows.value[static_cast<std::size_t>(v * k + i)];
      if (c.terms.rows_relu) row = std::max(row, 0.0);
      for (std::int64_t j = 0; j < n; ++j)
        e.out.add(v * n + j, row * w(i, j), at(e.rows.magnitude, v * k + i) * w(i, j));
    }
    for (std::int64_t j = 0; j < n; ++j) {
      if (!bias.empty()) e.out.add(v * n + j, at(bias, j), at(bias, j));
      double& y = e.out.value[static_cast<std::size_t>(v * n + j)];
      if (c.terms.relu) y = std::max(y, 0.0);
    }
  }
  for (std::int64_t u = 0; u < g.num_cols; ++u)
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const double sum = at(sums.value, u * n + j), size = at(sums.magnitude, u * n + j);
        e.x_grad.add(u * k + i, sum * w(i, j), size * w(i, j));
        e.weight_grad.add(c.terms.transposed ? j * k + i : i * n + j, at(x, u * k + i) * sum, at(x, u * k + i) * size);
      }
  return e;
}

/// Rounding of the sums, of the rows as they are stored (with a self term that is added apart, twice) and of the
/// result, in units of all that is added up. (Sums of few hundred terms: 16 units in the last place of the accumulator
/// cover them; products on tensor cores, which are the sum of three, take up to 32.)
inline void expect_linear(const Tensor& on_host, const WithMagnitudes& wanted, Dtype dtype, const std::string& context,
                          double units = 16) {
  const double step = dtype == Dtype::f64   ? 16 * 0x1p-53
                      : dtype == Dtype::f32 ? units * 0x1p-24
                      : dtype == Dtype::f16 ? 3.2 * 0x1p-11
                                            : 3.2 * 0x1p-8;
  const double least = dtype == Dtype::f16 ? 0x1p-23 : 1e-37;  // what is rounded to nothing
  const std::vector<double> got = doubles_of(on_host);
  ASSERT_EQ(got.size(), wanted.value.size()) << context;
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], wanted.value[i], step * wanted.magnitude[i] + least) << context << " at " << i;
}

/// What a run writes, on the host.
struct LinearResult {
  Tensor out, rows, x_grad, weight_grad;
};

/// Forward, and backward where no term stands against it, of a case on the context's device.
inline LinearResult run_linear(Context& context, const LinearCase& c, std::optional<bool> fuse) {
  const bool back = !c.terms.rows_bias && !c.terms.rows_relu;
  const Dtype acc = c.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  const auto empty = [&](Shape shape, Dtype dtype) {
    return Tensor::zeros(shape, dtype, "result", context.device(), context.stream());
  };
  LinearResult r{empty(Shape(c.graph.num_rows(), c.out), c.dtype), empty(Shape(c.graph.num_rows(), c.in), c.dtype),
                 empty(Shape(c.graph.num_cols(), c.in), c.dtype), empty(c.weight.shape(), acc)};
  SpmmLinear layer(context, c.graph, c.desc(fuse, back));
  SpmmLinearOptions options = c.options();
  options.kept = r.rows;
  layer(c.x, LinearCase::view(c.edge), c.weight, r.out, options);
  if (back) layer.backward(c.x, LinearCase::view(c.edge), c.weight, c.out_grad, {r.x_grad, r.weight_grad}, c.options());
  for (Tensor* const each : {&r.out, &r.rows, &r.x_grad, &r.weight_grad}) *each = each->to(Device{}, context.stream());
  if (!back) {
    r.x_grad = Tensor{};
    r.weight_grad = Tensor{};
  }
  return r;
}

inline void expect_linear(const LinearResult& got, const LinearExpected& wanted, Dtype dtype,
                          const std::string& context, double units = 16) {
  expect_linear(got.rows, wanted.rows, dtype, context + ", rows", units);
  expect_linear(got.out, wanted.out, dtype, context + ", out", units);
  if (!got.x_grad) return;
  expect_linear(got.x_grad, wanted.x_grad, dtype, context + ", gradient of x", units);
  expect_linear(got.weight_grad, wanted.weight_grad, dtype, context + ", gradient of weight", units);
}

}  // namespace weft::test
