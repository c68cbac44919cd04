#include "nn/aggregate.hpp"

#include <cmath>

#include "core/parallel.hpp"
#include "dense/passes.hpp"
#include "graph/graph_internals.hpp"

namespace weft::nn {
namespace {

/// f(v) for every row, where the context runs. A network that is built anew each step makes them each step.
template <class F>
Tensor by_row(const Build& build, std::int64_t rows, const F& f) {
  std::vector<double> values(static_cast<std::size_t>(rows));
  constexpr std::int64_t grain = 1 << 14;
  parallel_ranges(default_threads(), rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto v = static_cast<std::size_t>(begin); v < static_cast<std::size_t>(end); ++v) values[v] = f(v);
  });
  return Tensor::from(values, Shape(rows), build.acc()).to(build.context.device(), build.context.stream());
}

Tensor degrees_on_host(const Build& build, const Graph& graph) {
  return graph.degrees(Dtype::i64, build.context.stream()).to(Device{}, build.context.stream());
}

/// f(degree) of every row of the graph; 0 where it has no edges.
template <class F>
Tensor by_degree(const Build& build, const Graph& graph, const F& f) {
  const Tensor tensor = degrees_on_host(build, graph);
  return by_row(build, graph.num_rows(), [&f, degrees = tensor.span<std::int64_t>()](std::size_t v) {
    return degrees[v] > 0 ? f(static_cast<double>(degrees[v])) : 0;
  });
}

/// How many edges of the whole graph each one of a sample stands for, by row.
Tensor unbiased(const Build& build) {
  const Tensor of_whole = degrees_on_host(build, *build.sampled_from), of_sample = degrees_on_host(build, build.graph);
  return by_row(build, build.nodes(),
                [all = of_whole.span<std::int64_t>(), kept = of_sample.span<std::int64_t>()](std::size_t v) {
                  return kept[v] > 0 ? static_cast<double>(all[v]) / static_cast<double>(kept[v]) : 0;
                });
}

}  // namespace

DegreeScales DegreeScales::of(const Build& build, DegreeNorm norm) {
  const auto root = [](double degree) { return 1 / std::sqrt(degree); };
  const auto whole = [](double degree) { return 1 / degree; };
  const Graph& graph = build.norm_graph();
  DegreeScales scales;
  if (norm == DegreeNorm::right) scales.row = by_degree(build, graph, whole);
  if (norm == DegreeNorm::left) scales.col = by_degree(build, graph.transpose(), whole);
  if (norm != DegreeNorm::both) return scales;
  scales.row = by_degree(build, graph, root);
  scales.col = by_degree(build, graph.transpose(), root);
  return scales;
}

DegreeScales DegreeScales::of_means(const Build& build, DegreeNorm norm) {
  DegreeScales scales = of(build, norm);
  const Graph& graph = build.norm_graph();
  const auto root = [](double degree) { return std::sqrt(degree); };
  scales.row = norm == DegreeNorm::both ? by_degree(build, graph, root) : Tensor{};
  return scales;
}

Aggregate::Aggregate(const Build& build, std::int64_t width, Reduce reduce, bool goes_back, bool spends)
    : context_(build.context),
      graph_(build.graph),
      width_(width),
      reduce_(reduce),
      spends_(spends),
      slots_(build.slots) {
  weights_ = build.weights;
  if (reduce != Reduce::max && weights_.given) reduce_ = Reduce::sum;
  OpDesc desc{OpKind::spmm, build.dtype, 1, width, reduce_, weights_.given};
  desc.fits_windows = weights_.given && weights_.dtype == build.dtype;
  forward_ = make_plan(context_, graph_, desc);
  context_.reserve(forward_.workspace_bytes);
  if (build.sampled_from && reduce_ == Reduce::sum && !weights_.given) factors_ = unbiased(build);
  if (!build.trains || !goes_back) return;
  reversed_ = graph_.transpose();
  if (weights_.given) reversed_.view();  // which ids of edges may have to be made for
  if (reduce_ == Reduce::max) winners_ = build.empty(Shape(build.nodes(), width), Dtype::i64, "the winners of a max");
  if (reduce_ == Reduce::mean) factors_ = by_degree(build, graph_, [](double degree) { return 1 / degree; });
  if (factors_ && !spends_) slots_.need(Slot::third, build.nodes() * width, build.dtype);
  // Planning reads no memory: any address will do.
  const ConstTensorView like(this, build.dtype, Shape(build.sources(), width), context_.device());
  backward_ = plan_spmm_backward(context_, graph_, like, weights_, backward_options(), {.x = true, .edge = false});
  context_.reserve(backward_.workspace_bytes);
}

void Aggregate::forward(ConstTensorView x, TensorView out) {
  SpmmOptions options;
  options.op = weights_.given ? SpmmOp::u_mul_e : SpmmOp::copy_u;
  options.reduce = reduce_;
  if (winners_) options.arg_e = winners_;
  if (factors_ && reduce_ == Reduce::sum) options.epilogue.row_scale = factors_;
  spmm(context_, forward_, graph_, x, weights_, out, options);
}

void Aggregate::backward(ConstTensorView x, TensorView out_grad, TensorView x_grad) {
  ConstTensorView grad = out_grad;
  if (factors_) {  // before the sum: along the edges every scale costs more than a pass over the nodes
    const TensorView scaled = spends_ ? out_grad : slots_.view(Slot::third, out_grad.shape, out_grad.dtype);
    run(context_, dense::ScaleRowsArgs{out_grad.dtype, out_grad.shape.rows, out_grad.shape.row_size(), out_grad.data,
                                       factors_.view().data, scaled.mutable_data()});
    grad = scaled;
  }
  spmm_backward(context_, backward_, graph_, x, weights_, grad, backward_options(), {x_grad, {}});
}

bool Aggregate::fuses(const Build& build, std::int64_t out, dense::FusedSums sums) const {
  sums.scaled = sums.scaled || weights_.given;
  return reduce_ != Reduce::max && dense::fuses(build.gemm, graph_, build.dtype, width_, out, sums, build.fuse);
}

bool Aggregate::fuses_back(const Build& build, std::int64_t out, dense::FusedSums sums) const {
  sums.scaled = sums.scaled || weights_.given || factors_;
  return build.trains && reduce_ != Reduce::max &&
         dense::fuses(build.gemm, reversed_, build.dtype, width_, out, sums, build.fuse);
}

dense::NeighbourRows Aggregate::rows(ConstTensorView x) const {
  dense::NeighbourRows rows = rows_of(graph_, x);
  rows.mean = reduce_ == Reduce::mean;
  if (factors_ && reduce_ == Reduce::sum) rows.row_scale = factors_.view().data;
  return rows;
}

dense::NeighbourRows Aggregate::rows_back(ConstTensorView out_grad) const {
  dense::NeighbourRows rows = rows_of(reversed_, out_grad);
  if (factors_) rows.col_scale = factors_.view().data;
  return rows;
}

dense::NeighbourRows Aggregate::rows_of(const Graph& graph, ConstTensorView x) const {
  dense::NeighbourRows rows;
  rows.graph = weights_.given ? graph.view() : GraphInternals::view_without_ids(graph);
  rows.x = x.data;
  if (weights_.given) {
    rows.edge = weights_.data;
    rows.edge_dtype = weights_.dtype;
  }
  return rows;
}

SpmmOptions Aggregate::backward_options() {
  SpmmOptions options;
  options.op = weights_.given ? SpmmOp::u_mul_e : SpmmOp::copy_u;
  options.reduce = reduce_ == Reduce::max ? Reduce::max : Reduce::sum;
  if (winners_) options.arg_e = winners_;
  return options;
}

}  // namespace weft::nn
