// Sums, means, maxima and minima over neighbours, and their gradients.
#include "ops/spmm_inputs.hpp"

#include "call.hpp"
#include "core/names.hpp"

namespace weft::pytorch {
namespace {

SpmmOptions options_of(const std::string& op, const std::string& reduce) {
  SpmmOptions options;
  options.op = parse_spmm_op(op);
  options.reduce = parse_reduce(reduce);
  return options;
}

SpmmOptions options_of(std::int64_t op, std::int64_t reduce) {
  SpmmOptions options;
  options.op = static_cast<SpmmOp>(op);
  options.reduce = static_cast<Reduce>(reduce);
  return options;
}

/// The optional scales of targets, of sources and of x's own rows.
struct Scales {
  Input target, source, self;
  Scales(const MaybeTensor& of_targets, const MaybeTensor& of_sources, const MaybeTensor& of_self)
      : target(Input::in_a_row(of_targets, "target_scale")),
        source(Input::in_a_row(of_sources, "source_scale")),
        self(Input::in_a_row(of_self, "self_scale")) {}
  SpmmOptions options() const {
    SpmmOptions options;
    options.epilogue.row_scale = target;
    options.epilogue.col_scale = source;
    options.epilogue.self_scale = self;
    return options;
  }
  std::int64_t given() const {
    return (target.view().given ? 1 : 0) + (source.view().given ? 2 : 0) + (self.view().given ? 4 : 0);
  }
};

/// The message is x times the edge's value, or x if there are no edge values.
SpmmOptions options_of(const Scales& scales, const MaybeTensor& edge) {
  SpmmOptions options = scales.options();
  options.op = edge && edge->defined() ? SpmmOp::u_mul_e : SpmmOp::copy_u;
  return options;
}

/// Returns the result and, for max and min, the winning edge ids.
std::pair<Tensor, MaybeTensor> forward(Call& call, const MaybeTensor& x, const MaybeTensor& edge, SpmmOptions options,
                                       std::int64_t scales = 0) {
  const Input sources(x, "x"), values(edge, "edge");
  const SpmmShape shape = resolve(call.context, call.graph(), sources, values, options);
  const auto of =
      call.key(OpKind::spmm, {&sources.view(), &values.view()}, {number(options.op), number(options.reduce), scales});
  const auto plan = call.held->plan<Plan>(of, [&] { return make_plan(call.context, call.graph(), shape.desc); });
  const Shape by_row = shape.features.with_rows(call.graph().num_rows());
  const Tensor out = empty(by_row, shape.desc.dtype, call.like);
  MaybeTensor winners;
  if (is_extremum(options.reduce)) {
    winners = empty(by_row, Dtype::i64, call.like);
    options.arg_e = writable(*winners);
  }
  const Workspace workspace(call.context, plan->workspace_bytes, call.like);
  weft::spmm(call.context, *plan, call.graph(), sources, values, writable(out), options);
  return {out, winners};
}

/// Returns the gradients of x and edge; nullopt if one is not wanted or the op does not read its tensor.
std::pair<MaybeTensor, MaybeTensor> backward(Call& call, const MaybeTensor& x, const MaybeTensor& edge,
                                             const MaybeTensor& winners, const Tensor& out_grad, SpmmOptions options,
                                             bool want_x, bool want_edge, std::int64_t scales = 0) {
  const Input grad(out_grad, "out_grad"), won(winners, "winners");
  // For tensors that are not read here, ops/spmm.py passes nothing or placeholders.
  const bool multiplies = options.op == SpmmOp::u_mul_e || options.op == SpmmOp::u_div_e;
  const bool extremum = is_extremum(options.reduce);
  const auto read = [&](bool is_read, bool is_used, const MaybeTensor& tensor, std::string_view name,
                        std::int64_t rows) {
    if (is_read) return Input(tensor, name);
    if (is_used && !tensor) return grad.with_rows(rows);
    return Input::of_kind(tensor, name);
  };
  const Input sources =
                  read(extremum || (multiplies && want_edge), uses_node(options.op), x, "x", call.graph().num_cols()),
              values = read(extremum || multiplies, uses_edge(options.op), edge, "edge", call.graph().num_edges());
  if (extremum) options.arg_e = read_only(won);
  const auto of = call.key(OpKind::spmm, {&sources.view(), &values.view()},
                           {number(options.op), number(options.reduce), want_x, want_edge, scales});
  const auto plan = call.held->plan<SpmmBackwardPlan>(of, [&] {
    return plan_spmm_backward(call.context, call.graph(), sources, values, options, {want_x, want_edge});
  });
  const WantGradients& want = plan->want;
  const MaybeTensor x_grad = gradient_if(want.x, sources, call.like),
                    edge_grad = gradient_if(want.edge, values, call.like);
  const Workspace workspace(call.context, plan->workspace_bytes, call.like);
  weft::spmm_backward(call.context, *plan, call.graph(), sources, values, grad, options,
                      {into(x_grad), into(edge_grad)});
  return {x_grad, edge_grad};
}

}  // namespace

std::tuple<Tensor, Tensor> spmm(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor x, MaybeTensor edge,
                                std::string op, std::string reduce) {
  Call call(rows, key, num_sources);
  auto [out, winners] = forward(call, x, edge, options_of(op, reduce));
  return {out, winners ? *winners : nothing(Dtype::i64, call.like)};
}

std::tuple<Tensor, Tensor> spmm_backward(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor x,
                                         MaybeTensor edge, MaybeTensor winners, Tensor out_grad, std::string op,
                                         std::string reduce, bool want_x, bool want_edge) {
  Call call(rows, key, num_sources);
  const auto [of_x, of_edge] = backward(call, x, edge, winners, out_grad, options_of(op, reduce), want_x, want_edge);
  return {or_nothing(of_x, call.like), or_nothing(of_edge, call.like)};
}

std::tuple<Tensor, MaybeTensor> spmm_held(std::int64_t key, MaybeTensor x, MaybeTensor edge, std::int64_t op,
                                          std::int64_t reduce) {
  Call call(key, x ? *x : edge.value());
  auto [out, winners] = forward(call, x, edge, options_of(op, reduce));
  return {std::move(out), std::move(winners)};
}

std::tuple<MaybeTensor, MaybeTensor> spmm_held_backward(std::int64_t key, MaybeTensor x, MaybeTensor edge,
                                                        MaybeTensor winners, Tensor out_grad, std::int64_t op,
                                                        std::int64_t reduce, bool want_x, bool want_edge) {
  Call call(key, out_grad);
  auto [of_x, of_edge] = backward(call, x, edge, winners, out_grad, options_of(op, reduce), want_x, want_edge);
  return {std::move(of_x), std::move(of_edge)};
}

Tensor spmm_scaled(Rows rows, std::int64_t key, std::int64_t num_sources, Tensor x, MaybeTensor edge,
                   MaybeTensor target_scale, MaybeTensor source_scale, MaybeTensor self_scale) {
  Call call(rows, key, num_sources);
  const Scales scales(target_scale, source_scale, self_scale);
  return forward(call, x, edge, options_of(scales, edge), scales.given()).first;
}

std::tuple<Tensor, Tensor> spmm_scaled_backward(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor x,
                                                MaybeTensor edge, Tensor out_grad, MaybeTensor target_scale,
                                                MaybeTensor source_scale, MaybeTensor self_scale, bool want_x,
                                                bool want_edge) {
  Call call(rows, key, num_sources);
  const Scales scales(target_scale, source_scale, self_scale);
  const auto [of_x, of_edge] =
      backward(call, x, edge, {}, out_grad, options_of(scales, edge), want_x, want_edge, scales.given());
  return {or_nothing(of_x, call.like), or_nothing(of_edge, call.like)};
}

Tensor spmm_scaled_held(std::int64_t key, Tensor x, MaybeTensor edge, MaybeTensor target_scale,
                        MaybeTensor source_scale, MaybeTensor self_scale) {
  Call call(key, x);
  const Scales scales(target_scale, source_scale, self_scale);
  return forward(call, x, edge, options_of(scales, edge), scales.given()).first;
}

std::tuple<MaybeTensor, MaybeTensor> spmm_scaled_held_backward(std::int64_t key, MaybeTensor x, MaybeTensor edge,
                                                               Tensor out_grad, MaybeTensor target_scale,
                                                               MaybeTensor source_scale, MaybeTensor self_scale,
                                                               bool want_x, bool want_edge) {
  Call call(key, out_grad);
  const Scales scales(target_scale, source_scale, self_scale);
  auto [of_x, of_edge] =
      backward(call, x, edge, {}, out_grad, options_of(scales, edge), want_x, want_edge, scales.given());
  return {std::move(of_x), std::move(of_edge)};
}

}  // namespace weft::pytorch
