#include "nn/aggregate.hpp"

#include <cmath>

#include "kernels/extremum_backward.hpp"
#include "nn/dense/passes.hpp"
#include "ops/operands.hpp"

namespace weft::nn {
namespace {

/// f(degree) of every row of the graph, where the context runs.
template <class F>
Tensor by_degree(const Build& build, const Graph& graph, const F& f) {
  const Tensor degrees = graph.degrees(Dtype::i64, build.context.stream()).to(Device{}, build.context.stream());
  std::vector<double> values;
  for (const std::int64_t degree : degrees.span<std::int64_t>())
    values.push_back(degree > 0 ? f(static_cast<double>(degree)) : 0);
  return Tensor::from(values, Shape(graph.num_rows()), build.acc()).to(build.context.device(), build.context.stream());
}

}  // namespace

DegreeScales DegreeScales::of(const Build& build, DegreeNorm norm) {
  const auto root = [](double degree) { return 1 / std::sqrt(degree); };
  const auto whole = [](double degree) { return 1 / degree; };
  DegreeScales scales;
  if (norm == DegreeNorm::right) scales.row = by_degree(build, build.graph, whole);
  if (norm == DegreeNorm::left) scales.col = by_degree(build, build.graph.transpose(), whole);
  if (norm != DegreeNorm::both) return scales;
  scales.row = by_degree(build, build.graph, root);
  scales.col = by_degree(build, build.graph.transpose(), root);
  return scales;
}

DegreeScales DegreeScales::of_means(const Build& build, DegreeNorm norm) {
  DegreeScales scales = of(build, norm);
  scales.row = norm == DegreeNorm::both ? by_degree(build, build.graph, [](double degree) { return std::sqrt(degree); })
                                        : Tensor{};
  return scales;
}

Aggregate::Aggregate(const Build& build, std::int64_t width, Reduce reduce, bool goes_back, bool spends)
    : context_(build.context), graph_(build.graph), reduce_(reduce), spends_(spends), slots_(build.slots) {
  weights_ = build.weights;
  if (reduce != Reduce::max && weights_.given) reduce_ = Reduce::sum;
  OpDesc desc{OpKind::spmm, build.dtype, 1, width, reduce_, weights_.given};
  forward_ = make_plan(context_, graph_, desc);
  context_.reserve(forward_.workspace_bytes);
  if (!build.trains || !goes_back) return;
  if (reduce_ == Reduce::max) {
    winners_ = build.empty(Shape(build.nodes(), width), Dtype::i64, "the winners of a max");
    if (context_.device().kind == DeviceKind::cuda) {
      ExtremumBackwardArgs args;
      const Graph transpose = graph_.transpose();
      args.graph = transpose.view();
      args.width = args.out_width = width;
      context_.reserve(weft::cuda::extremum_workspace(args));
    } else {
      backward_ = make_plan(context_, graph_.transpose(), extremum_backward_desc(1, width));
      context_.reserve(backward_.workspace_bytes);
    }
    return;
  }
  if (reduce_ == Reduce::mean) {
    means_ = by_degree(build, graph_, [](double degree) { return 1 / degree; });
    if (!spends_) slots_.need(Slot::third, build.nodes() * width, build.dtype);
  }
  desc.reduce = Reduce::sum;
  backward_ = make_plan(context_, graph_.transpose(), desc);
  context_.reserve(backward_.workspace_bytes);
}

void Aggregate::forward(ConstTensorView x, TensorView out) {
  SpmmOptions options;
  options.op = weights_.given ? SpmmOp::u_mul_e : SpmmOp::copy_u;
  options.reduce = reduce_;
  if (winners_) options.arg_e = winners_;
  spmm(context_, forward_, graph_, x, weights_, out, options);
}

void Aggregate::backward(ConstTensorView x, TensorView out_grad, TensorView x_grad) {
  if (reduce_ == Reduce::max) return extremum_backward(x, out_grad, x_grad);
  ConstTensorView grad = out_grad;
  if (means_) {  // before the sum: along the edges every scale costs more than a pass over the nodes
    const TensorView scaled = spends_ ? out_grad : slots_.view(Slot::third, out_grad.shape, out_grad.dtype);
    run(context_, ScaleRowsArgs{out_grad.dtype, out_grad.shape.rows, out_grad.shape.row_size(), out_grad.data,
                                means_.view().data, scaled.mutable_data()});
    grad = scaled;
  }
  SpmmOptions options;
  options.op = weights_.given ? SpmmOp::u_mul_e : SpmmOp::copy_u;
  spmm(context_, backward_, graph_.transpose(), grad, weights_, x_grad, options);
}

void Aggregate::extremum_backward(ConstTensorView x, ConstTensorView out_grad, TensorView x_grad) {
  const Graph reversed = graph_.transpose();
  const Features features = Features::of(x.shape);
  ExtremumBackwardArgs args;
  args.graph = reversed.view();
  args.op = weights_.given ? SpmmOp::u_mul_e : SpmmOp::copy_u;
  args.width = args.out_width = features.width;
  args.x = operand(x, features);
  args.edge = operand(weights_, features);
  args.out_grad = operand(out_grad, features);
  args.arg_e = winners_.view().as<EdgeId>();
  args.out = result(x_grad);
  if (context_.device().kind == DeviceKind::cuda)
    return weft::cuda::extremum_x_gradient(args, context_.device(), context_.arena(), context_.stream());
  weft::cpu::extremum_x_gradient(args, backward_, context_.arena());
}

}  // namespace weft::nn
