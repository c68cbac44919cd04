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

}  // namespace

std::tuple<Tensor, Tensor> spmm(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor x, MaybeTensor edge,
                                std::string op, std::string reduce) {
  Call call(rows, key, num_sources);
  const Input sources(x, "x"), values(edge, "edge");
  SpmmOptions options = options_of(op, reduce);
  const SpmmShape shape = resolve(call.context, call.graph(), sources, values, options);
  const auto of =
      call.key(OpKind::spmm, {&sources.view(), &values.view()}, {number(options.op), number(options.reduce)});
  const auto plan = call.held->plan<Plan>(of, [&] { return make_plan(call.context, call.graph(), shape.desc); });
  const Shape by_row = shape.features.with_rows(call.graph().num_rows());
  const Tensor out = empty(by_row, shape.desc.dtype, call.like);
  const bool has_winners = is_extremum(options.reduce);
  const Tensor winners = has_winners ? empty(by_row, Dtype::i64, call.like) : nothing(Dtype::i64, call.like);
  options.arg_e = into(has_winners, winners);
  const Workspace workspace(call.context, plan->workspace_bytes, call.like);
  weft::spmm(call.context, *plan, call.graph(), sources, values, writable(out), options);
  return {out, winners};
}

std::tuple<Tensor, Tensor> spmm_backward(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor x,
                                         MaybeTensor edge, Tensor winners, Tensor out_grad, std::string op,
                                         std::string reduce, bool want_x, bool want_edge) {
  Call call(rows, key, num_sources);
  SpmmOptions options = options_of(op, reduce);
  const auto read = [](bool is_read, const MaybeTensor& tensor, std::string_view name) {
    return is_read ? Input(tensor, name) : Input::of_kind(tensor, name);
  };
  // ops/spmm.py keeps placeholders of what is not read here.
  const bool multiplies = options.op == SpmmOp::u_mul_e || options.op == SpmmOp::u_div_e;
  const bool extremum = is_extremum(options.reduce);
  const Input sources = read(extremum || (multiplies && want_edge), x, "x"),
              values = read(extremum || multiplies, edge, "edge");
  const Input grad(out_grad, "out_grad"), won(winners, "winners");
  if (extremum) options.arg_e = read_only(won);
  const auto of = call.key(OpKind::spmm, {&sources.view(), &values.view()},
                           {number(options.op), number(options.reduce), want_x, want_edge});
  const auto plan = call.held->plan<SpmmBackwardPlan>(of, [&] {
    return plan_spmm_backward(call.context, call.graph(), sources, values, options, {want_x, want_edge});
  });
  const WantGradients& want = plan->want;
  const Tensor x_grad = gradient_of(want.x, sources, call.like), edge_grad = gradient_of(want.edge, values, call.like);
  const Workspace workspace(call.context, plan->workspace_bytes, call.like);
  weft::spmm_backward(call.context, *plan, call.graph(), sources, values, grad, options,
                      {into(want.x, x_grad), into(want.edge, edge_grad)});
  return {x_grad, edge_grad};
}

}  // namespace weft::pytorch
