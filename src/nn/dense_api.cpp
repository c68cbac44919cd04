// The public face of dense products, activations, the loss and optimiser steps (include/weft/dense.hpp): arguments are
// checked here, and the passes that layers use do the work.
#include <algorithm>
#include <limits>

#include "core/check.hpp"
#include "core/device.hpp"
#include "core/device_room.hpp"
#include "nn/dense/gemm.hpp"
#include "nn/dense/passes.hpp"
#include "nn/trainer.hpp"
#include "weft/dense.hpp"

namespace weft {
namespace {

Dtype accumulator_of(Dtype dtype) { return dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

/// A dense floating tensor on the context's device.
void check_dense(const Context& context, ConstTensorView view, const char* name) {
  WEFT_CHECK(view.given, invalid_argument, "{} is empty: expected a tensor", name);
  WEFT_CHECK(is_floating(view.dtype), invalid_argument, "{} is {}: expected f32, f16, bf16 or f64", name,
             weft::name(view.dtype));
  WEFT_CHECK(view.device == context.device(), invalid_argument,
             "{} is on {} and the context on {}: copy it there first", name, to_string(view.device),
             to_string(context.device()));
  WEFT_CHECK(view.ld == view.shape.row_size() || view.shape.rows <= 1, invalid_argument,
             "{} has rows {} elements apart for {} columns: expected dense rows; clone it first", name, view.ld,
             view.shape.row_size());
}
void check_like(const Context& context, ConstTensorView view, const char* name, ConstTensorView wanted,
                const char* wanted_name) {
  check_dense(context, view, name);
  WEFT_CHECK(view.shape == wanted.shape && view.dtype == wanted.dtype, invalid_argument,
             "{} is {} {}: expected {} {}, as {}", name, weft::name(view.dtype), to_string(view.shape),
             weft::name(wanted.dtype), to_string(wanted.shape), wanted_name);
}
/// One number a column, in what activations are accumulated in.
void check_columns(const Context& context, ConstTensorView view, const char* name, ConstTensorView x) {
  check_dense(context, view, name);
  WEFT_CHECK(view.shape.size() == x.shape.row_size() && view.dtype == accumulator_of(x.dtype), invalid_argument,
             "{} is {} {}: expected {} [{}], one number for each column", name, weft::name(view.dtype),
             to_string(view.shape), weft::name(accumulator_of(x.dtype)), x.shape.row_size());
}
void check_host_list(ConstTensorView view, const char* name) {
  WEFT_CHECK(view.given && view.dtype == Dtype::i32 && view.shape.rank == 1, invalid_argument,
             "{} are {} {}: expected i32 of one dimension", name, weft::name(view.dtype), to_string(view.shape));
  WEFT_CHECK(view.device.kind == DeviceKind::cpu, invalid_argument, "{} are on {}: expected them on the host", name,
             to_string(view.device));
  WEFT_CHECK(view.ld == 1 || view.shape.rows <= 1, invalid_argument,
             "{} have numbers {} elements apart: expected one after the other; clone them first", name, view.ld);
}

void put(const Context& context, Tensor& to, const void* from, std::size_t bytes) {
  copy_bytes(context.device(), to.view().mutable_data(), Device{}, from, bytes, context.stream());
}

}  // namespace

// ---- Products --------------------------------------------------------------------------------

struct MatrixProduct::State {
  State(const Context& context, bool tf32) : device(context.device()), gemm(context, tf32) {}
  Device device;
  nn::Gemm gemm;
};

MatrixProduct::MatrixProduct(const Context& context, bool tf32) : state_(std::make_unique<State>(context, tf32)) {}
MatrixProduct::~MatrixProduct() = default;
MatrixProduct::MatrixProduct(MatrixProduct&&) noexcept = default;
MatrixProduct& MatrixProduct::operator=(MatrixProduct&&) noexcept = default;

void MatrixProduct::operator()(ConstTensorView a, ConstTensorView b, TensorView c, const ProductOptions& options) {
  const auto check = [&](ConstTensorView view, const char* name) {
    WEFT_CHECK(view.given && is_floating(view.dtype) && view.shape.rank == 2, invalid_argument,
               "{} is {} {}: expected a floating matrix of two dimensions", name, weft::name(view.dtype),
               to_string(view.shape));
    WEFT_CHECK(view.device == state_->device, invalid_argument, "{} is on {}: expected {}, where the products run",
               name, to_string(view.device), to_string(state_->device));
    WEFT_CHECK(view.ld >= view.shape.row_size(), invalid_argument,
               "{} has a leading dimension of {}: expected at least its {} columns", name, view.ld,
               view.shape.row_size());
  };
  check(a, "a");
  check(b, "b");
  check(c, "c");
  WEFT_CHECK(a.dtype == b.dtype && (c.dtype == a.dtype || c.dtype == accumulator_of(a.dtype)), invalid_argument,
             "a is {}, b {} and c {}: expected one storage type, or f32 for c", weft::name(a.dtype),
             weft::name(b.dtype), weft::name(c.dtype));
  const auto [m, k] =
      options.transpose_a ? std::pair(a.shape.width, a.shape.rows) : std::pair(a.shape.rows, a.shape.width);
  const auto [k_of_b, n] =
      options.transpose_b ? std::pair(b.shape.width, b.shape.rows) : std::pair(b.shape.rows, b.shape.width);
  WEFT_CHECK(k == k_of_b && c.shape.rows == m && c.shape.width == n, invalid_argument,
             "a is {}{}, b {}{} and c {}: expected [m, k], [k, n] and [m, n]", to_string(a.shape),
             options.transpose_a ? " transposed" : "", to_string(b.shape), options.transpose_b ? " transposed" : "",
             to_string(c.shape));
  const auto as = [](bool transposed) { return transposed ? nn::Transposed::yes : nn::Transposed::no; };
  state_->gemm(a, as(options.transpose_a), b, as(options.transpose_b), c, options.accumulate);
}

// ---- Activations -----------------------------------------------------------------------------

void activate(const Context& context, ConstTensorView x, ConstTensorView bias, Activation activation, TensorView out) {
  check_dense(context, x, "x");
  check_like(context, out, "out", x, "x");
  if (bias.given) check_columns(context, bias, "bias", x);
  nn::ActivateArgs args;
  args.dtype = x.dtype;
  args.rows = x.shape.rows;
  args.width = x.shape.row_size();
  args.x = x.data;
  args.bias = bias.given ? bias.data : nullptr;
  args.activation = activation;
  args.out = out.mutable_data();
  if (x.shape.size() > 0) nn::run(context, args);
}

void activate_backward(const Context& context, ConstTensorView out, ConstTensorView out_grad, Activation activation,
                       TensorView grad, TensorView bias_grad) {
  check_dense(context, out, "out");
  check_like(context, out_grad, "out_grad", out, "out");
  check_like(context, grad, "grad", out, "out");
  nn::ActivateBackwardArgs args;
  args.dtype = out.dtype;
  args.rows = out.shape.rows;
  args.width = out.shape.row_size();
  args.out = out.data;
  args.out_grad = out_grad.data;
  args.activation = activation;
  args.grad = grad.mutable_data();
  // The pass sums over rows whether or not anybody wants the sum.
  Tensor scratch = room_for<std::byte>(context, static_cast<std::int64_t>(nn::fold_bytes(args.rows, args.width, 1)),
                                       "partial sums of a bias");
  args.scratch = scratch.view().mutable_data();
  if (bias_grad.given) {
    check_columns(context, bias_grad, "bias_grad", out);
    args.bias_grad = bias_grad.mutable_data();
  }
  nn::run(context, args);
}

// ---- Loss ------------------------------------------------------------------------------------

struct CrossEntropy::State {
  const Context* context;
  std::int64_t nodes = 0;
  std::int64_t counted = 0;
  std::int32_t largest = -1;  // label of a node that counts
  Tensor labels, split, sums, step_state, scratch;
};

CrossEntropy::CrossEntropy(const Context& context, ConstTensorView labels, ConstTensorView nodes)
    : state_(std::make_unique<State>()) {
  check_host_list(labels, "labels");
  check_host_list(nodes, "nodes");
  State& s = *state_;
  s.context = &context;
  s.nodes = labels.shape.rows;
  std::vector<std::uint8_t> split(static_cast<std::size_t>(s.nodes) + 8);
  for (std::int64_t i = 0; i < nodes.shape.rows; ++i) {
    const std::int32_t node = nodes.as<std::int32_t>()[i];
    WEFT_CHECK(node >= 0 && node < s.nodes, invalid_argument, "nodes[{}] is {}: expected 0 to {}", i, node,
               s.nodes - 1);
    WEFT_CHECK(split[static_cast<std::size_t>(node)] == 0, invalid_argument,
               "nodes[{}] is {} a second time: expected once", i, node);
    split[static_cast<std::size_t>(node)] = 1;
    const std::int32_t label = labels.as<std::int32_t>()[node];
    s.counted += label >= 0 ? 1 : 0;
    s.largest = std::max(s.largest, label);
  }
  WEFT_CHECK(s.counted > 0, invalid_argument, "none of the {} nodes has a label: expected one at least",
             nodes.shape.rows);
  s.labels = room_for<std::int32_t>(context, s.nodes, "labels");
  put(context, s.labels, labels.data, static_cast<std::size_t>(s.nodes) * sizeof(std::int32_t));
  s.split = room_for<std::uint8_t>(context, s.nodes, "which nodes count");
  put(context, s.split, split.data(), static_cast<std::size_t>(s.nodes));
  s.sums = room_for<nn::SplitSums>(context, nn::num_splits, "sums of losses");
  const nn::StepState first;
  s.step_state = room_for<nn::StepState>(context, 1, "a loss scale of 1");
  put(context, s.step_state, &first, sizeof first);
  s.scratch = room_for<std::byte>(context, static_cast<std::int64_t>(nn::fold_bytes(s.nodes, nn::num_splits * 4, 1)),
                                  "partial sums of losses");
}
CrossEntropy::~CrossEntropy() = default;
CrossEntropy::CrossEntropy(CrossEntropy&&) noexcept = default;
CrossEntropy& CrossEntropy::operator=(CrossEntropy&&) noexcept = default;

LossFigures CrossEntropy::operator()(ConstTensorView logits, TensorView grad) {
  State& s = *state_;
  check_dense(*s.context, logits, "logits");
  WEFT_CHECK(logits.dtype == Dtype::f32 && logits.shape.rank == 2 && logits.shape.rows == s.nodes, invalid_argument,
             "logits are {} {}: expected f32 [{}, classes]", name(logits.dtype), to_string(logits.shape), s.nodes);
  WEFT_CHECK(s.largest < logits.shape.width, invalid_argument,
             "logits have {} columns and a label is {}: expected a column for each class", logits.shape.width,
             s.largest);
  if (grad.given) check_like(*s.context, grad, "grad", logits, "logits");
  nn::LossArgs args;
  args.rows = s.nodes;
  args.classes = args.stride = logits.shape.width;
  args.logits = logits.data;
  args.labels = as<std::int32_t>(s.labels);
  args.split = as<std::uint8_t>(s.split);
  args.weight = 1 / static_cast<double>(s.counted);
  args.state = as<nn::StepState>(s.step_state);
  args.grad = grad.given ? grad.mutable_data() : nullptr;
  args.sums = as<nn::SplitSums>(s.sums);
  args.scratch = s.scratch.view().mutable_data();
  nn::run(*s.context, args);
  nn::SplitSums sums;
  copy_bytes(Device{}, &sums, s.context->device(), args.sums, sizeof sums, s.context->stream());
  return {sums.loss * args.weight, sums.accuracy()};
}

// ---- Optimiser -------------------------------------------------------------------------------

struct OptimiserSteps::State {
  struct Moments {
    TensorView parameter;
    Tensor first, second, decays;
  };
  const Context* context;
  TrainOptions options;
  std::vector<Moments> parameters;
  nn::StepState step;  // on the host; the device's copy follows before each step
  Tensor step_there;
};

OptimiserSteps::OptimiserSteps(const Context& context, std::vector<TensorView> parameters, const TrainOptions& options)
    : state_(std::make_unique<State>()) {
  nn::check_options(options);
  State& s = *state_;
  s.context = &context;
  s.options = options;
  for (const TensorView& parameter : parameters) {
    check_dense(context, parameter, "a parameter");
    WEFT_CHECK(parameter.dtype == Dtype::f32, invalid_argument, "a parameter is {}: expected f32",
               name(parameter.dtype));
    const std::int64_t count = parameter.shape.size();
    const std::vector<std::uint8_t> decays(static_cast<std::size_t>(count), parameter.shape.rank > 1 ? 1 : 0);
    State::Moments moments{parameter, room_for<float>(context, count, "first moments"),
                           room_for<float>(context, count, "second moments"),
                           room_for<std::uint8_t>(context, count, "which parameters decay")};
    put(context, moments.decays, decays.data(), decays.size());
    s.parameters.push_back(std::move(moments));
  }
  s.step_there = room_for<nn::StepState>(context, 1, "the optimiser's step");
}
OptimiserSteps::~OptimiserSteps() = default;
OptimiserSteps::OptimiserSteps(OptimiserSteps&&) noexcept = default;
OptimiserSteps& OptimiserSteps::operator=(OptimiserSteps&&) noexcept = default;

void OptimiserSteps::operator()(std::span<const ConstTensorView> gradients) {
  State& s = *state_;
  WEFT_CHECK(gradients.size() == s.parameters.size(), invalid_argument,
             "there are {} gradients for {} parameters: expected one for each", gradients.size(), s.parameters.size());
  for (std::size_t i = 0; i < gradients.size(); ++i)
    check_like(*s.context, gradients[i], "a gradient", s.parameters[i].parameter, "its parameter");
  put(*s.context, s.step_there, &s.step, sizeof s.step);
  const TrainOptions& o = s.options;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    State::Moments& moments = s.parameters[i];
    nn::OptimiseArgs args;
    args.count = moments.parameter.shape.size();
    args.parameters = moments.parameter.mutable_data();
    args.grads = gradients[i].data;
    args.first = moments.first.view().mutable_data();
    args.second = moments.second.view().mutable_data();
    args.decays = as<std::uint8_t>(moments.decays);
    args.optimiser = o.optimiser;
    args.rate = {o.schedule, o.lr, o.warmup, o.every, o.epochs, o.gamma};
    args.weight_decay = o.weight_decay;
    args.momentum = o.momentum;
    args.beta1 = o.beta1;
    args.beta2 = o.beta2;
    args.epsilon = o.epsilon;
    args.state = as<nn::StepState>(s.step_there);
    if (args.count > 0) nn::run(*s.context, args);
  }
  ++s.step.applied;
  ++s.step.step;
  ++s.step.epoch;
}

}  // namespace weft
