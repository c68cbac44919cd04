#include "nn/input.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"
#include "dense/passes.hpp"
#include "graph/graph_internals.hpp"
#include "nn/layout.hpp"
#include "nn/sample/cut.hpp"

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

}  // namespace

Features::Features(const Context& context, const ModelSpec& spec, Dtype dtype, const Dataset& dataset) {
  const Device device = context.device();
  CUstream_st* const stream = context.stream();
  const LayerSizes first = sizes_of_layer(spec, 0);
  const bool added = spec.residual && !first.last && first.in == first.out;  // as it is, to the first layer's output
  const bool dense = !dataset.sparse_features || added || takes_maxima(spec);
  if (!dense) {
    const SparseRows& rows = dataset.sparse_features;
    const std::span<const EdgeId> offsets = rows.offsets.span<EdgeId>();
    Tensor values = rows.values ? rows.values.clone() : Tensor::zeros(Shape(rows.entries()), Dtype::f32, "features");
    const std::span<float> entries = values.span<float>();
    if (!rows.values) std::ranges::fill(entries, 1.0f);
    check_finite_features(entries, 0, "in entry");
    if (spec.normalise_inputs)
      normalise_rows(rows.rows(), [&](std::int64_t r) {
        const auto begin = static_cast<std::size_t>(offsets[r]), end = static_cast<std::size_t>(offsets[r + 1]);
        return entries.subspan(begin, end - begin);
      });
    graph_ = Graph::from_csr(rows.rows(), rows.cols, offsets, rows.columns.span<NodeId>()).to(device, stream);
    values_ = values.to(dtype).to(device, stream);
    return;
  }
  Tensor features = dataset.features ? dataset.features.clone() : dataset.sparse_features.dense();
  const std::int64_t width = features.shape().row_size();
  const std::span<float> values = features.span<float>();
  check_finite_features(values, width, "at node");
  if (spec.normalise_inputs)
    normalise_rows(features.shape().rows, [&](std::int64_t r) {
      return values.subspan(static_cast<std::size_t>(r * width), static_cast<std::size_t>(width));
    });
  dense_ = dtype == Dtype::f32 ? features.to(device, stream) : features.to(dtype).to(device, stream);
}

Features::Features(const Context& context, const Features& all, ConstTensorView nodes) {
  const std::int64_t count = nodes.shape.rows;
  const Device device = context.device();
  if (!all.sparse()) {
    const std::int64_t width = all.dense_.shape().row_size();
    dense_ = Tensor::empty(Shape(count, width), all.dtype(), "features of a batch", device, context.stream());
    run(context, GatherArgs<NodeId>{all.dtype(), count, width, all.dense_.view().data, nodes.as<NodeId>(),
                                    dense_.view().mutable_data()});
    return;
  }
  CutRows rows = take_rows(context, all.graph_, nodes, nullptr);
  const std::int64_t entries = rows.cols.shape().rows;
  values_ = Tensor::empty(Shape(entries), all.dtype(), "features of a batch", device, context.stream());
  if (entries > 0)
    run(context, GatherArgs<EdgeId>{all.dtype(), entries, 1, all.values_.view().data, rows.places.view().as<EdgeId>(),
                                    values_.view().mutable_data()});
  graph_ = GraphInternals::adopt_rows(all.graph_.num_cols(), std::move(rows.offsets), std::move(rows.cols),
                                      context.stream());
}

Graph Features::first_rows(const Context& context, std::int64_t rows) const {
  Tensor first = Tensor::empty(Shape(rows), Dtype::i32, "the first nodes");
  for (std::int64_t i = 0; i < rows; ++i) first.span<NodeId>()[static_cast<std::size_t>(i)] = static_cast<NodeId>(i);
  if (context.device().kind == DeviceKind::cuda) first = first.to(context.device(), context.stream());
  CutRows cut = take_rows(context, graph_, first, nullptr);
  return GraphInternals::adopt_rows(graph_.num_cols(), std::move(cut.offsets), std::move(cut.cols), context.stream());
}

Input::Input(const Build& build, std::shared_ptr<const Features> features, std::int64_t written)
    : features_(std::move(features)), ever_drops_(build.trains && build.spec.dropout > 0) {
  if (ever_drops_)
    dropped_ = build.empty(features_->sparse() ? features_->values().shape : features_->dense().shape,
                           features_->dtype(), "features after dropout");
  if (!features_->sparse()) return;
  sparse_.graph = features_->graph();
  sparse_.values = features_->values();
  if (ever_drops_) sparse_.dropped = dropped_.view();
  if (written == sparse_.graph.num_rows()) return;
  // Entries of the first rows come first, so that values and what is dropped of them are the same.
  written_.graph = features_->first_rows(build.context, written);
  written_.values = head(sparse_.values, written_.graph.num_edges());
  if (ever_drops_) written_.dropped = head(sparse_.dropped, written_.graph.num_edges());
  sparse_.written = &written_;
}

Matrix Input::read(Context& context, const dense::DropMask& mask, bool training) {
  const bool drops = training && mask.given();
  const ConstTensorView all = features_->sparse() ? features_->values() : features_->dense();
  if (drops && all.shape.size() > 0)
    run(context, dense::ActivateArgs{all.dtype, all.shape.rows, all.shape.row_size(), all.data, nullptr,
                                     Activation::none, mask, dropped_.view().mutable_data()});
  if (features_->sparse()) return {{}, &sparse_, drops};
  if (drops) return {dropped_, nullptr, false};
  return {features_->dense(), nullptr, false, !ever_drops_};
}

}  // namespace weft::nn
