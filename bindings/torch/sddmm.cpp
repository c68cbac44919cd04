// One result per edge from its ends, and the gradients.
#include "ops/sddmm_inputs.hpp"

#include "call.hpp"
#include "core/names.hpp"

namespace weft::pytorch {
namespace {

SddmmOptions options_of(const std::string& op, const std::string& left, const std::string& right) {
  return {parse_sddmm_op(op), parse_target(left), parse_target(right)};
}

SddmmOptions options_of(std::int64_t op, std::int64_t left, std::int64_t right) {
  return {static_cast<SddmmOp>(op), static_cast<Target>(left), static_cast<Target>(right)};
}

Tensor forward(Call& call, const MaybeTensor& lhs, const MaybeTensor& rhs, const SddmmOptions& options) {
  const Input l(lhs, "lhs"), r(rhs, "rhs");
  const SddmmShape shape = resolve(call.context, call.graph(), l, r, options);
  const auto of =
      call.key(OpKind::sddmm, {&l.view(), &r.view()}, {number(options.op), number(options.lhs), number(options.rhs)});
  const auto plan = call.held->plan<Plan>(of, [&] { return make_plan(call.context, call.graph(), shape.desc); });
  const Tensor out = empty(shape.out.with_rows(call.graph().num_edges()), shape.desc.dtype, call.like);
  const Workspace workspace(call.context, plan->workspace_bytes, call.like);
  weft::sddmm(call.context, *plan, call.graph(), l, r, writable(out), options);
  return out;
}

/// Gradients that are not wanted are nullopt.
std::pair<MaybeTensor, MaybeTensor> backward(Call& call, const MaybeTensor& lhs, const MaybeTensor& rhs,
                                             const Tensor& out_grad, const SddmmOptions& options, bool want_lhs,
                                             bool want_rhs) {
  const Input l(lhs, "lhs"), r(rhs, "rhs"), grad(out_grad, "out_grad");
  const auto of = call.key(OpKind::sddmm, {&l.view(), &r.view()},
                           {number(options.op), number(options.lhs), number(options.rhs), want_lhs, want_rhs});
  const auto plan = call.held->plan<SddmmBackwardPlan>(of, [&] {
    return plan_sddmm_backward(call.context, call.graph(), l, r, options, {want_lhs, want_rhs});
  });
  const WantSddmmGradients& want = plan->want;
  const MaybeTensor l_grad = gradient_if(want.lhs, l, call.like), r_grad = gradient_if(want.rhs, r, call.like);
  const Workspace workspace(call.context, plan->workspace_bytes, call.like);
  weft::sddmm_backward(call.context, *plan, call.graph(), l, r, grad, {into(l_grad), into(r_grad)});
  return {l_grad, r_grad};
}

}  // namespace

Tensor sddmm(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor lhs, MaybeTensor rhs, std::string op,
             std::string left, std::string right) {
  Call call(rows, key, num_sources);
  return forward(call, lhs, rhs, options_of(op, left, right));
}

std::tuple<Tensor, Tensor> sddmm_backward(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor lhs,
                                          MaybeTensor rhs, Tensor out_grad, std::string op, std::string left,
                                          std::string right, bool want_lhs, bool want_rhs) {
  Call call(rows, key, num_sources);
  const auto [l, r] = backward(call, lhs, rhs, out_grad, options_of(op, left, right), want_lhs, want_rhs);
  return {or_nothing(l, call.like), or_nothing(r, call.like)};
}

Tensor sddmm_held(std::int64_t key, MaybeTensor lhs, MaybeTensor rhs, std::int64_t op, std::int64_t left,
                  std::int64_t right) {
  Call call(key, lhs ? *lhs : rhs.value());
  return forward(call, lhs, rhs, options_of(op, left, right));
}

std::tuple<MaybeTensor, MaybeTensor> sddmm_held_backward(std::int64_t key, MaybeTensor lhs, MaybeTensor rhs,
                                                         Tensor out_grad, std::int64_t op, std::int64_t left,
                                                         std::int64_t right, bool want_lhs, bool want_rhs) {
  Call call(key, out_grad);
  auto [l, r] = backward(call, lhs, rhs, out_grad, options_of(op, left, right), want_lhs, want_rhs);
  return {std::move(l), std::move(r)};
}

}  // namespace weft::pytorch
