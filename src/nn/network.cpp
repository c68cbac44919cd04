#include "nn/network.hpp"

#include <chrono>

#include "graph/graph_internals.hpp"

namespace weft::nn {

void make_orders(const Build& build, bool sparse, bool weighted) {
  if (build.context.device().kind == DeviceKind::cpu) return;
  const bool attention = attends(build.spec.architecture);
  for (std::int64_t l = 0; l < build.spec.layers; ++l) {
    const LayerSizes s = sizes_of_layer(build.spec, l);
    const bool compares = build.spec.architecture == Architecture::sage && build.spec.aggregate == Reduce::max;
    OpDesc desc{OpKind::spmm, build.dtype, 1, summed_width(build, l, sparse), compares ? Reduce::max : Reduce::sum,
                weighted};
    if (attention) desc = {OpKind::attention, build.dtype, s.heads, s.width, Reduce::sum, true};
    make_plan(build.context, build.graph, desc);
    desc.backward = attention;
    if (build.trains) make_plan(build.context, build.graph.transpose(), desc);
  }
}

Network::Network(Build build, std::shared_ptr<const Features> features, std::vector<Block> blocks)
    : Network(std::move(build), std::move(features), std::move(blocks), WithoutStages{}) {
  for (std::int64_t l = 0; l < build_.spec.layers; ++l) stages_.push_back(make_stage(l));
  place_outputs();
}

Network::Network(Build build, std::shared_ptr<const Features> features, std::vector<Block> blocks, WithoutStages)
    : build_(std::move(build)), blocks_(std::move(blocks)), input_(build_, std::move(features), build_of(0).nodes()) {
  input_mask_ = mask_at(0);
}

dense::DropMask Network::mask_at(std::int64_t place) const {
  return {build_.spec.dropout, build_.seed, static_cast<std::uint32_t>(place), build_.step};
}

Network::Stage Network::make_stage(std::int64_t l) {
  const ModelSpec& spec = build_.spec;
  Stage stage;
  stage.sizes = sizes_of_layer(spec, l);
  const Build here = build_of(l);
  const SparseInput* const sparse = l == 0 ? input_.sparse() : nullptr;
  stage.conv = definition_of(spec.architecture).make(here, l, sparse);
  stage.fusion = stage.conv->fusion();
  const std::string residual = layer_prefix(l) + "residual.weight";
  stage.adds_input = spec.residual;
  if (build_.parameters.has(residual))
    stage.residual = std::make_unique<Linear>(here, residual, sparse != nullptr ? sparse->of_written() : nullptr);
  if (spec.norm != LayerNorm::none && !stage.sizes.last) {
    stage.norm = std::make_unique<NormStage>(here, l, stage.sizes.out);
  } else {
    stage.bias = build_.parameters.index(layer_prefix(l) + "bias");
  }
  stage.scales_last = !stage.adds_input && stage.norm == nullptr;
  if (!stage.sizes.last) {
    stage.mask = mask_at(l + 1);
    stage.activation = spec.activation;
  }
  stage.shape = Shape(here.nodes(), stage.sizes.out);
  if (!build_.trains) return stage;
  if (!stage.sizes.last || keeps_logits()) build_.slots.need(build_.grad_slot(l), stage.shape.size(), build_.dtype);
  build_.slots.need_bytes(Slot::fold, loops::fold_bytes(stage.shape.rows, stage.sizes.out, 1));
  if (!stage.scales_last && stage.fusion.row_scale.given)
    build_.slots.need(Slot::third, stage.shape.size(), build_.dtype);
  return stage;
}

Tensor Network::own_output(const Stage& stage) const {
  return build_.empty(stage.shape, stage.sizes.last ? build_.acc() : build_.dtype, "a layer's output");
}

void Network::place_outputs() {
  constexpr std::size_t worth_it = std::size_t{1} << 30;  // bytes
  const bool can = build_.trains && definition_of(build_.spec.architecture).remakes;
  const auto again = [&](const Stage& stage) {
    return can && !stage.sizes.last && !stage.adds_input && stage.norm == nullptr;
  };
  std::size_t sum = 0, most = 0;
  for (const Stage& stage : stages_) {
    const std::size_t bytes = static_cast<std::size_t>(stage.shape.size()) * size_of(build_.dtype);
    if (!again(stage)) continue;
    sum += bytes;
    most = std::max(most, bytes);
  }
  const bool remakes = build_.recompute.value_or(sum - most >= worth_it);
  for (Stage& stage : stages_) {
    if (remakes && again(stage)) {
      build_.slots.need(Slot::output, stage.shape.size(), build_.dtype);
    } else {
      stage.out = own_output(stage);
    }
  }
}

TensorView Network::out_of(Stage& stage) {
  return stage.out ? stage.out.view() : build_.slots.view(Slot::output, stage.shape, build_.dtype);
}

void Network::need_output(std::size_t stage) {
  Stage& needed = stages_[stage];
  if (needed.out || standing_ == stage) return;
  const Tail tail = tail_of(needed, true);
  finish(needed, tail, needed.conv->remake(out_of(needed), tail));
  standing_ = stage;
}

Build Network::build_of(std::int64_t layer) const {
  const Block& block = blocks_[std::min(static_cast<std::size_t>(layer), blocks_.size() - 1)];
  Build build = build_;
  build.graph = block.graph;
  if (block.weights) build.weights = block.weights;
  build.sampled_from = block.sampled_from;
  return build;
}

Tail Network::tail_of(const Stage& stage, bool training) const {
  Tail tail{{}, stage.activation, {}};
  if (stage.norm == nullptr) tail.bias = build_.parameters.value(stage.bias);
  if (training) tail.mask = stage.mask;
  return tail;
}

void Network::finish(Stage& stage, const Tail& tail, const Applied& applied) {
  const bool activates = !applied.activation && tail.activation != Activation::none;
  const bool drops = !applied.dropout && tail.mask.given();
  const bool biased = applied.bias || !tail.bias.given;
  const ConstTensorView scale = stage.scales_last ? stage.fusion.row_scale : ConstTensorView{};
  if (biased && !activates && !drops && !scale.given) return;
  const TensorView out = out_of(stage);
  run(build_.context,
      dense::ActivateArgs{out.dtype, out.shape.rows, stage.sizes.out, out.data, biased ? nullptr : tail.bias.data,
                          activates ? tail.activation : Activation::none, drops ? tail.mask : dense::DropMask{},
                          out.mutable_data(), scale.data});
}

ConstTensorView Network::forward(bool training) {
  read_ = input_.read(build_.context, input_mask_, training);
  // Sums over other edges are others, whatever stays the same in what they are of.
  if (GraphInternals::is_redrawn(blocks_.front().graph)) read_.constant = false;
  Matrix x = read_;
  for (std::size_t l = 0; l < stages_.size(); ++l) {
    x = pass(stages_[l], x, training);
    if (!stages_[l].out) standing_ = l;
  }
  return stages_.back().out;
}

Matrix Network::pass(Stage& stage, const Matrix& x, bool training) {
  const Tail tail = tail_of(stage, training);
  const bool more_first = stage.adds_input || stage.norm != nullptr;  // before anything is activated
  const TensorView out = stage.norm != nullptr ? stage.norm->input() : out_of(stage);
  Applied applied = stage.conv->forward(x, out, more_first ? Tail{tail.bias, Activation::none, {}} : tail, training);
  if (more_first) {
    applied.activation = applied.dropout = false;
    scale_and_bias(stage, out, tail, applied);
  }
  if (stage.adds_input) add_input(stage, x, out);
  if (stage.norm != nullptr) stage.norm->forward(stage.out, training);
  finish(stage, tail, applied);
  return {out_of(stage), nullptr, false};
}

Inferred Network::infer(Build build, std::shared_ptr<const Features> features, std::vector<Block> blocks,
                        bool keep_hidden) {
  using Clock = std::chrono::steady_clock;
  Network network(std::move(build), std::move(features), std::move(blocks), WithoutStages{});
  Context& context = network.build_.context;
  Inferred result;
  const auto timed = [&](const auto& work) {
    context.synchronise();
    const auto begun = Clock::now();
    work();
    context.synchronise();
    result.seconds += std::chrono::duration<double>(Clock::now() - begun).count();
  };
  Matrix x;
  timed([&] { x = network.input_.read(context, network.input_mask_, false); });
  for (std::int64_t l = 0; l < network.build_.spec.layers; ++l) {
    Stage stage = network.make_stage(l);
    stage.out = network.own_output(stage);
    network.build_.slots.allocate(context);
    timed([&] { x = network.pass(stage, x, false); });
    if (keep_hidden && stage.sizes.last) result.hidden = std::move(result.logits);  // which this layer has read
    result.logits = std::move(stage.out);  // of the last layer, in the end; x is a view of it
  }
  return result;
}

/// What otherwise waits for the activation, before anything is added to it or normed.
void Network::scale_and_bias(Stage& stage, TensorView out, const Tail& tail, Applied& applied) {
  const ConstTensorView scale = stage.fusion.row_scale;
  if (!scale.given) return;
  run(build_.context, dense::ActivateArgs{out.dtype,
                                          out.shape.rows,
                                          stage.sizes.out,
                                          out.data,
                                          tail.bias.data,
                                          Activation::none,
                                          {},
                                          out.mutable_data(),
                                          scale.data});
  applied.bias = true;
}

void Network::add_input(Stage& stage, const Matrix& x, TensorView to) {
  if (stage.residual != nullptr) return stage.residual->forward(x.of_written(to.shape.rows), to, {true});
  run(build_.context,
      dense::AddSelfArgs{build_.dtype, to.shape.size(), x.dense.data, nullptr, to.mutable_data(), true});
}

TensorView Network::grad_of(std::size_t stage) {
  Stage& of = stages_[stage];
  if (of.sizes.last && !keeps_logits()) return of.out.view();
  return build_.slots.view(build_.grad_slot(static_cast<std::int64_t>(stage)), of.shape, build_.dtype);
}

TensorView Network::logits_grad() { return grad_of(stages_.size() - 1); }

void Network::backward() {
  bool gated = false;  // the gradient came through the stage's activation already
  for (std::size_t l = stages_.size(); l-- > 0;) {
    Stage& stage = stages_[l];
    const TensorView grad = grad_of(l);
    Back back{l == 0 ? read_ : Matrix{out_of(stages_[l - 1]), nullptr, false}, grad, {}, {}, {}};
    if (l > 0) back.x_grad = grad_of(l - 1);
    const ConstTensorView scale = stage.fusion.row_scale;
    // Whatever is added to the input's gradient goes through the activation as well.
    const bool gates = l > 0 && gate_of(stages_[l - 1]) && stage.fusion.gates && !stage.adds_input;
    if (gates) back.gate = *gate_of(stages_[l - 1]);
    if (stage.norm == nullptr && !scale.given && stage.fusion.sums_bias)
      back.bias_grad = build_.parameters.grad(stage.bias);
    activate_backward(stage, grad, gated, back.bias_grad.given);
    gated = gates;
    if (l > 0) need_output(l - 1);  // its place may be that of this stage's, which has been read now
    if (stage.norm != nullptr) stage.norm->backward(grad);
    if (!stage.scales_last && scale.given) {  // the input that is added needs the gradient as it is
      back.out_grad = build_.slots.view(Slot::third, grad.shape, build_.dtype);
      run(build_.context, dense::ScaleRowsArgs{build_.dtype, grad.shape.rows, grad.shape.row_size(), grad.data,
                                               scale.data, back.out_grad.mutable_data()});
    }
    stage.conv->backward(back);
    if (stage.adds_input) input_backward(stage, back.x, grad, back.x_grad);
  }
}

std::optional<dense::Finish> Network::gate_of(Stage& stage) {
  if (stage.activation != Activation::relu) return std::nullopt;
  // What was dropped is 0, too.
  return dense::Finish{false, {}, false, out_of(stage), stage.mask.given() ? stage.mask.scale() : 1, false};
}

/// Of the activation, its scale and the bias, what the layers around it have left.
void Network::activate_backward(Stage& stage, TensorView grad, bool gated, bool bias_summed) {
  const bool through = !gated && (stage.activation != Activation::none || stage.mask.given());
  const ConstTensorView scale = stage.scales_last ? stage.fusion.row_scale : ConstTensorView{};
  const bool written = through || scale.given, sums = stage.norm == nullptr && !bias_summed;
  if (!written && !sums) return;
  dense::ActivateBackwardArgs args{build_.dtype, grad.shape.rows, grad.shape.row_size(), nullptr, grad.data};
  if (through) {
    args.out = out_of(stage).data;
    args.activation = stage.activation;
    args.mask = stage.mask;
  }
  if (written) args.grad = grad.mutable_data();
  if (sums) args.bias_grad = build_.parameters.grad(stage.bias).mutable_data();
  args.scratch = build_.slots.data(Slot::fold);
  args.row_scale = scale.data;
  run(build_.context, args);
}

void Network::input_backward(Stage& stage, const Matrix& x, ConstTensorView grad, TensorView x_grad) {
  if (stage.residual != nullptr) {
    stage.residual->weight_grad(x.of_written(grad.shape.rows), grad);
    if (x_grad.given) stage.residual->input_grad(grad, head(x_grad, grad.shape.rows), {true});
  } else if (x_grad.given) {
    run(build_.context, dense::AddSelfArgs{build_.dtype, grad.shape.size(), grad.data, nullptr, x_grad.mutable_data()});
  }
}

}  // namespace weft::nn
