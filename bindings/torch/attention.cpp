// Softmax over the edges of a target, and attention, with their gradients.
#include "ops/attention_inputs.hpp"

#include "call.hpp"
#include "core/names.hpp"
#include "sample.hpp"

namespace weft::pytorch {
namespace {

/// Attention's tensors as weft's inputs.
struct Inputs {
  Input value, src, dst, attn, bias, edge, step;
  AttentionInputs in;

  Inputs(const Tensor& value_given, const Tensor& src_given, const Tensor& dst_given, const MaybeTensor& attn_given,
         const MaybeTensor& bias_given, const MaybeTensor& edge_given, Score score, double slope, double scale,
         double dropout, std::int64_t seed, const MaybeTensor& step_given)
      : value(value_given, "value"),
        src(src_given, "src"),
        dst(dst_given, "dst"),
        attn(attn_given, "attn"),
        bias(bias_given, "bias"),
        edge(edge_given, "edge"),
        step(step_given, "step") {
    in.score = score;
    in.value = value;
    in.src = src;
    in.dst = dst;
    in.attn = attn;
    in.bias = bias;
    in.edge = edge;
    in.step = step;
    in.slope = slope;
    in.scale = scale;
    in.dropout = static_cast<float>(dropout);
    in.seed = static_cast<std::uint64_t>(seed);
  }
  PlanKey::Numbers key(const Call& call) const {
    return call.key(
        OpKind::attention, {&value.view(), &src.view(), &dst.view(), &attn.view(), &bias.view(), &edge.view()},
        {number(in.score), in.dropout > 0, in.slope >= 0 && in.slope <= 1, static_cast<float>(in.scale) > 0});
  }
};

/// The plan of both the forward and the backward.
std::shared_ptr<const Plan> softmax_plan(const Call& call, const ConstTensorView& values) {
  const OpDesc desc{OpKind::softmax, values.dtype, values.shape.heads, 1, Reduce::sum, true};
  return call.held->plan<Plan>(call.key(OpKind::softmax, {&values}, {}),
                               [&] { return make_plan(call.context, call.graph(), desc); });
}

Tensor softmax(Call& call, const Tensor& scores) {
  const Input in(scores, "scores");
  const auto plan = softmax_plan(call, in);
  const Tensor out = empty(in.view().shape, in.view().dtype, call.like);
  const Workspace workspace(call.context, plan->workspace_bytes, call.like);
  weft::edge_softmax(call.context, *plan, call.graph(), in, writable(out));
  return out;
}

Tensor softmax_gradient(Call& call, const Tensor& alpha, const Tensor& alpha_grad) {
  const Input in(alpha, "alpha"), grad(alpha_grad, "alpha_grad");
  const auto plan = softmax_plan(call, in);
  const Tensor out = empty(in.view().shape, in.view().dtype, call.like);
  const Workspace workspace(call.context, plan->workspace_bytes, call.like);
  weft::edge_softmax_backward(call.context, *plan, call.graph(), in, grad, writable(out));
  return out;
}

/// The result and the softmax statistics of rows.
std::tuple<Tensor, Tensor, Tensor> forward(Call& call, const Inputs& inputs, PlanKey::Numbers of) {
  const AttentionShape shape = resolve(call.context, call.graph(), inputs.in);
  const auto plan =
      call.held->plan<Plan>(std::move(of), [&] { return make_plan(call.context, call.graph(), shape.desc); });
  const std::int64_t targets = call.graph().num_rows();
  const Tensor out = empty(shape.value.with_rows(targets), shape.desc.dtype, call.like);
  const Shape by_head(targets, shape.value.heads, 1);
  const Tensor row_max = empty(by_head, accumulator(shape.desc.dtype), call.like),
               row_sum = empty(by_head, accumulator(shape.desc.dtype), call.like);
  const Workspace workspace(call.context, plan->workspace_bytes, call.like);
  weft::attention(call.context, *plan, call.graph(), inputs.in, writable(out), writable(row_max), writable(row_sum));
  return {out, row_max, row_sum};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> backward(Call& call, const Inputs& inputs, const Tensor& out,
                                                                    const Tensor& row_max, const Tensor& row_sum,
                                                                    const Tensor& out_grad) {
  const Input given(out, "out"), maxima(row_max, "row_max"), sums(row_sum, "row_sum"),
      grad = Input::aligned(out_grad, "out_grad");  // as gradient plans assume
  const auto plan = call.held->plan<AttentionBackwardPlan>(
      inputs.key(call), [&] { return plan_attention_backward(call.context, call.graph(), inputs.in); });
  const auto like = [&](const ConstTensorView& tensor) { return gradient_of(tensor.given, tensor, call.like); };
  const Tensor of_value = like(inputs.value), of_src = like(inputs.src), of_dst = like(inputs.dst),
               of_attn = like(inputs.attn), of_bias = like(inputs.bias), of_edge = like(inputs.edge);
  const Workspace workspace(call.context, plan->workspace_bytes, call.like);
  weft::attention_backward(
      call.context, *plan, call.graph(), inputs.in, {given, maxima, sums}, grad,
      {writable(of_value), writable(of_src), writable(of_dst), into(inputs.attn.view().given, of_attn),
       into(inputs.bias.view().given, of_bias), into(inputs.edge.view().given, of_edge)});
  return {of_value, of_src, of_dst, of_attn, of_bias, of_edge};
}

}  // namespace

Tensor edge_softmax(Rows rows, std::int64_t key, std::int64_t num_sources, Tensor scores) {
  Call call(rows, key, num_sources);
  return softmax(call, scores);
}
Tensor edge_softmax_held(std::int64_t key, Tensor scores) {
  Call call(key, scores);
  return softmax(call, scores);
}

Tensor edge_softmax_backward(Rows rows, std::int64_t key, std::int64_t num_sources, Tensor alpha, Tensor alpha_grad) {
  Call call(rows, key, num_sources);
  return softmax_gradient(call, alpha, alpha_grad);
}
Tensor edge_softmax_held_backward(std::int64_t key, Tensor alpha, Tensor alpha_grad) {
  Call call(key, alpha_grad);
  return softmax_gradient(call, alpha, alpha_grad);
}

std::tuple<Tensor, Tensor, Tensor> attention(Rows rows, std::int64_t key, std::int64_t num_sources, Tensor value,
                                             Tensor src, Tensor dst, MaybeTensor attn, MaybeTensor bias,
                                             MaybeTensor edge, std::string score, double slope, double scale,
                                             double dropout, std::int64_t seed, MaybeTensor step) {
  Call call(rows, key, num_sources);
  const Inputs inputs(value, src, dst, attn, bias, edge, parse_score(score), slope, scale, dropout, seed, step);
  return forward(call, inputs, inputs.key(call));
}
std::tuple<Tensor, Tensor, Tensor> attention_held(std::int64_t key, Tensor value, Tensor src, Tensor dst,
                                                  MaybeTensor attn, MaybeTensor bias, MaybeTensor edge,
                                                  std::int64_t score, double slope, double scale, double dropout,
                                                  std::int64_t seed, MaybeTensor step) {
  Call call(key, value);
  const Inputs inputs(value, src, dst, attn, bias, edge, static_cast<Score>(score), slope, scale, dropout, seed, step);
  return forward(call, inputs, inputs.key(call));
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> attention_backward(
    Rows rows, std::int64_t key, std::int64_t num_sources, Tensor value, Tensor src, Tensor dst, MaybeTensor attn,
    MaybeTensor bias, MaybeTensor edge, Tensor out, Tensor row_max, Tensor row_sum, Tensor out_grad, std::string score,
    double slope, double scale, double dropout, std::int64_t seed, MaybeTensor step) {
  Call call(rows, key, num_sources);
  const Inputs inputs(value, src, dst, attn, bias, edge, parse_score(score), slope, scale, dropout, seed, step);
  return backward(call, inputs, out, row_max, row_sum, out_grad);
}
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> attention_held_backward(
    std::int64_t key, Tensor value, Tensor src, Tensor dst, MaybeTensor attn, MaybeTensor bias, MaybeTensor edge,
    Tensor out, Tensor row_max, Tensor row_sum, Tensor out_grad, std::int64_t score, double slope, double scale,
    double dropout, std::int64_t seed, MaybeTensor step) {
  Call call(key, out_grad);
  const Inputs inputs(value, src, dst, attn, bias, edge, static_cast<Score>(score), slope, scale, dropout, seed, step);
  return backward(call, inputs, out, row_max, row_sum, out_grad);
}

Tensor attention_sampled(Rows rows, std::int64_t key, std::int64_t num_sources, Tensor value, Tensor src, Tensor dst,
                         MaybeTensor attn, MaybeTensor bias, MaybeTensor edge, std::string score, double slope,
                         double scale, std::string method, std::int64_t width, std::int64_t seed, std::int64_t step) {
  Call call(rows, key, num_sources);
  Inputs inputs(value, src, dst, attn, bias, edge, parse_score(score), slope, scale, 0, 0, {});
  inputs.in.sample = sample_of(method, width, seed, step);
  PlanKey::Numbers of = inputs.key(call);
  of.insert(of.end(), {width, number(inputs.in.sample->method)});
  return std::get<0>(forward(call, inputs, std::move(of)));
}

}  // namespace weft::pytorch
