#include "nn/network.hpp"

#include <cmath>

#include "core/check.hpp"

namespace weft::nn {
namespace {

/// Rows divided by the sum of their magnitudes, where that is not 0.
template <class RowOf>
void normalise_rows(std::int64_t rows, const RowOf& row_of) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::span<float> row = row_of(r);
    double sum = 0;
    for (const float value : row) sum += std::fabs(static_cast<double>(value));
    if (sum > 0)
      for (float& value : row) value = static_cast<float>(static_cast<double>(value) / sum);
  }
}

void check_finite_features(std::span<const float> values, std::int64_t width, std::string_view what) {
  for (std::size_t i = 0; i < values.size(); ++i)
    WEFT_CHECK(std::isfinite(values[i]), invalid_argument,
               "features hold {} {} {}: expected finite numbers; mend the dataset", values[i], what,
               width > 0 ? fmt::format("{}, feature {}", static_cast<std::int64_t>(i) / width,
                                       static_cast<std::int64_t>(i) % width)
                         : std::to_string(i));
}

/// Makes what the graph keeps for planners before there is anything else in memory: sorting takes as much again for a
/// while.
Build with_orders(Build build, bool sparse) {
  if (build.context.device().kind == DeviceKind::cpu) return build;
  const bool attention = attends(build.spec.architecture);
  for (std::int64_t l = 0; l < build.spec.layers; ++l) {
    const LayerSizes s = sizes_of_layer(build.spec, l);
    OpDesc desc{OpKind::spmm, build.dtype, 1, summed_width(build, l, sparse), Reduce::sum, false};
    if (attention) desc = {OpKind::attention, build.dtype, s.heads, s.width, Reduce::sum, true};
    make_plan(build.context, build.graph, desc);
    desc.backward = attention;
    if (build.trains) make_plan(build.context, build.graph.transpose(), desc);
  }
  return build;
}

}  // namespace

Input::Input(const Build& build, const Dataset& dataset)
    : dtype_(build.dtype), ever_drops_(build.trains && build.spec.dropout > 0) {
  const Device device = build.context.device();
  CUstream_st* const stream = build.context.stream();
  const bool drops = ever_drops_, normalises = build.spec.normalise_inputs;
  // A max is over features themselves, not over their products with weights.
  const LayerSizes first = sizes_of_layer(build.spec, 0);
  const bool added =
      build.spec.residual && !first.last && first.in == first.out;  // as it is, to the first layer's output
  const bool dense = !dataset.sparse_features || added ||
                     (build.spec.architecture == Architecture::sage && build.spec.aggregate == Reduce::max);
  if (!dense) {
    const SparseRows& rows = dataset.sparse_features;
    const std::span<const EdgeId> offsets = rows.offsets.span<EdgeId>();
    Tensor values = rows.values ? rows.values.clone() : Tensor::zeros(Shape(rows.entries()), Dtype::f32, "features");
    const std::span<float> entries = values.span<float>();
    if (!rows.values) std::ranges::fill(entries, 1.0f);
    check_finite_features(entries, 0, "in entry");
    if (normalises)
      normalise_rows(rows.rows(), [&](std::int64_t r) {
        const auto begin = static_cast<std::size_t>(offsets[r]), end = static_cast<std::size_t>(offsets[r + 1]);
        return entries.subspan(begin, end - begin);
      });
    sparse_.graph = Graph::from_csr(rows.rows(), rows.cols, offsets, rows.columns.span<NodeId>()).to(device, stream);
    sparse_.values = values.to(dtype_).to(device, stream);
    if (drops) sparse_.dropped = build.empty(sparse_.values.shape(), dtype_, "features after dropout");
    return;
  }
  Tensor features = dataset.features ? dataset.features.clone() : dataset.sparse_features.dense();
  const std::int64_t width = features.shape().row_size();
  const std::span<float> values = features.span<float>();
  check_finite_features(values, width, "at node");
  if (normalises)
    normalise_rows(features.shape().rows, [&](std::int64_t r) {
      return values.subspan(static_cast<std::size_t>(r * width), static_cast<std::size_t>(width));
    });
  dense_ = dtype_ == Dtype::f32 ? features.to(device, stream) : features.to(dtype_).to(device, stream);
  if (drops) dropped_ = build.empty(dense_.shape(), dtype_, "features after dropout");
}

Matrix Input::read(Context& context, const DropMask& mask, bool training) {
  const bool drops = training && mask.given();
  if (sparse() != nullptr) {
    if (drops)
      run(context, ActivateArgs{dtype_, sparse_.values.shape().rows, 1, sparse_.values.view().data, nullptr,
                                Activation::none, mask, sparse_.dropped.view().mutable_data()});
    return {{}, &sparse_, drops};
  }
  if (!drops) return {dense_, nullptr, false, !ever_drops_};
  run(context, ActivateArgs{dtype_, dense_.shape().rows, dense_.shape().row_size(), dense_.view().data, nullptr,
                            Activation::none, mask, dropped_.view().mutable_data()});
  return {dropped_, nullptr, false};
}

Network::Network(Build build, const Dataset& dataset)
    : build_(with_orders(std::move(build), static_cast<bool>(dataset.sparse_features))), input_(build_, dataset) {
  const ModelSpec& spec = build_.spec;
  const auto mask = [&](std::int64_t place) {
    return DropMask{spec.dropout, build_.seed, static_cast<std::uint32_t>(place), build_.step};
  };
  input_mask_ = mask(0);
  for (std::int64_t l = 0; l < spec.layers; ++l) {
    Stage stage;
    stage.sizes = sizes_of_layer(spec, l);
    const SparseInput* const sparse = l == 0 ? input_.sparse() : nullptr;
    stage.conv = make_conv(build_, l, sparse);
    const std::string residual = layer_prefix(l) + "residual.weight";
    stage.adds_input = spec.residual;
    if (build_.parameters.has(residual)) stage.residual = std::make_unique<Linear>(build_, residual, sparse);
    if (spec.norm != LayerNorm::none && !stage.sizes.last) {
      stage.norm = std::make_unique<NormStage>(build_, l, stage.sizes.out);
    } else {
      stage.bias = build_.parameters.index(layer_prefix(l) + "bias");
    }
    stage.scales_last = !stage.adds_input && stage.norm == nullptr;
    if (!stage.sizes.last) {
      stage.mask = mask(l + 1);
      stage.activation = spec.activation;
    }
    const Shape shape(build_.nodes(), stage.sizes.out);
    stage.out = build_.empty(shape, stage.sizes.last ? build_.acc() : build_.dtype, "a layer's output");
    if (build_.trains) {
      build_.slots.need(grad_slot(stages_.size()), shape.size(), build_.dtype);
      build_.slots.need_bytes(Slot::fold, fold_bytes(shape.rows, stage.sizes.out, 1));
      if (!stage.scales_last && stage.conv->row_scale().given)
        build_.slots.need(Slot::third, shape.size(), build_.dtype);
    }
    stages_.push_back(std::move(stage));
  }
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
  const ConstTensorView scale = stage.scales_last ? stage.conv->row_scale() : ConstTensorView{};
  if (biased && !activates && !drops && !scale.given) return;
  const Dtype dtype = stage.sizes.last ? build_.acc() : build_.dtype;
  run(build_.context, ActivateArgs{dtype, stage.out.shape().rows, stage.sizes.out, stage.out.view().data,
                                   biased ? nullptr : tail.bias.data, activates ? tail.activation : Activation::none,
                                   drops ? tail.mask : DropMask{}, stage.out.view().mutable_data(), scale.data});
}

ConstTensorView Network::forward(bool training) {
  read_ = input_.read(build_.context, input_mask_, training);
  Matrix x = read_;
  for (Stage& stage : stages_) {
    const Tail tail = tail_of(stage, training);
    const bool more_first = stage.adds_input || stage.norm != nullptr;  // before anything is activated
    const TensorView out = stage.norm != nullptr ? stage.norm->input() : stage.out.view();
    Applied applied = stage.conv->forward(x, out, more_first ? Tail{tail.bias, Activation::none, {}} : tail, training);
    if (more_first) {
      applied.activation = applied.dropout = false;
      scale_and_bias(stage, out, tail, applied);
    }
    if (stage.adds_input) add_input(stage, x, out);
    if (stage.norm != nullptr) stage.norm->forward(stage.out, training);
    finish(stage, tail, applied);
    x = {stage.out, nullptr, false};
  }
  return stages_.back().out;
}

/// What otherwise waits for the activation, before anything is added to it or normed.
void Network::scale_and_bias(Stage& stage, TensorView out, const Tail& tail, Applied& applied) {
  const ConstTensorView scale = stage.conv->row_scale();
  if (!scale.given) return;
  run(build_.context, ActivateArgs{out.dtype,
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
  if (stage.residual != nullptr) return stage.residual->forward(x, to, true);
  run(build_.context, AddSelfArgs{build_.dtype, to.shape.size(), x.dense.data, nullptr, to.mutable_data(), true});
}

TensorView Network::logits_grad() {
  const Stage& last = stages_.back();
  return build_.slots.view(grad_slot(stages_.size() - 1), last.out.shape(), build_.dtype);
}

void Network::backward() {
  for (std::size_t l = stages_.size(); l-- > 0;) {
    Stage& stage = stages_[l];
    const Shape shape = stage.out.shape();
    const TensorView grad = build_.slots.view(grad_slot(l), shape, build_.dtype);
    const ConstTensorView scale = stage.conv->row_scale();
    const bool through = stage.activation != Activation::none || stage.mask.given();
    const bool written = through || (stage.scales_last && scale.given);
    run(build_.context,
        ActivateBackwardArgs{build_.dtype, shape.rows, shape.row_size(), through ? stage.out.view().data : nullptr,
                             grad.data, stage.activation, stage.mask, written ? grad.mutable_data() : nullptr,
                             stage.norm == nullptr ? build_.parameters.grad(stage.bias).mutable_data() : nullptr,
                             build_.slots.data(Slot::fold), stage.scales_last ? scale.data : nullptr});
    if (stage.norm != nullptr) stage.norm->backward(grad);
    const Matrix x = l == 0 ? read_ : Matrix{stages_[l - 1].out, nullptr, false};
    TensorView x_grad;
    if (l > 0) x_grad = build_.slots.view(grad_slot(l - 1), stages_[l - 1].out.shape(), build_.dtype);
    if (stage.scales_last || !scale.given) {
      stage.conv->backward(x, grad, x_grad);
    } else {  // the input that is added needs the gradient as it is
      const TensorView scaled = build_.slots.view(Slot::third, shape, build_.dtype);
      run(build_.context,
          ScaleRowsArgs{build_.dtype, shape.rows, shape.row_size(), grad.data, scale.data, scaled.mutable_data()});
      stage.conv->backward(x, scaled, x_grad);
    }
    if (stage.adds_input) input_backward(stage, x, grad, x_grad);
  }
}

void Network::input_backward(Stage& stage, const Matrix& x, ConstTensorView grad, TensorView x_grad) {
  if (stage.residual != nullptr) {
    stage.residual->weight_grad(x, grad);
    if (x_grad.given) stage.residual->input_grad(grad, x_grad, true);
  } else if (x_grad.given) {
    run(build_.context, AddSelfArgs{build_.dtype, grad.shape.size(), grad.data, nullptr, x_grad.mutable_data()});
  }
}

bool Network::capturable() const {
  for (const Stage& stage : stages_)
    if (!stage.conv->capturable()) return false;
  return true;
}

}  // namespace weft::nn
