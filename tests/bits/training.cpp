// Twenty epochs of every model, in full and half precision, on the whole graph and on batches.
#include <fmt/format.h>

#include "bits/bits.hpp"
#include "weft/generate.hpp"
#include "weft/nn.hpp"

namespace weft::test {
namespace {

Dataset citations() { return open_dataset("citations:nodes=900"); }

void add_run(Bits& bits, const Dataset& dataset, const std::string& how, ModelSpec spec, const TrainOptions& options) {
  spec.inputs = dataset.num_features();
  spec.classes = dataset.classes;
  const TrainResult result = train(bits.context(), dataset, make_model(spec, 7), options);
  std::vector<double> losses;
  for (const EpochFigures& epoch : result.epochs) losses.push_back(epoch.loss);
  Hash parameters;
  for (const Parameter& parameter : result.model.parameters) parameters.add(parameter.value);
  for (const Parameter& statistic : result.model.statistics) parameters.add(statistic.value);
  bits.add(fmt::format("training {} {}", name(spec.architecture), name(options.dtype)), how, "",
           Tensor::from(std::span<const double>(losses), Shape(static_cast<std::int64_t>(losses.size())), Dtype::f64),
           fmt::format("{:016x}", parameters.value()));
}

}  // namespace

void add_training(Bits& bits) {
  const Dataset dataset = citations();
  for (const Architecture architecture :
       {Architecture::gcn, Architecture::sage, Architecture::gin, Architecture::gat, Architecture::gatv2})
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
      for (const Sampling sampling : {Sampling::none, Sampling::neighbour, Sampling::walk}) {
        ModelSpec spec = ModelSpec::of(architecture);
        TrainOptions options = TrainOptions::of(architecture);
        options.epochs = 20;
        options.patience = 0;
        options.dtype = dtype;
        options.seed = 11;
        options.sample.method = sampling;
        options.sample.batch = sampling == Sampling::none ? 0 : 64;
        add_run(bits, dataset, fmt::format("published settings, {}", name(sampling)), spec, options);
        spec.layers = 3;
        spec.hidden = 32;
        if (architecture == Architecture::gat || architecture == Architecture::gatv2) spec.heads = 4;
        spec.norm = LayerNorm::batch;
        spec.residual = true;
        if (sampling == Sampling::none) {
          add_run(bits, dataset, "three layers, batch norm, residual", spec, options);
          spec.norm = LayerNorm::layer;
          spec.residual = false;
          options.tf32 = true;
          add_run(bits, dataset, "three layers, layer norm, tf32", spec, options);
        }
      }
}

}  // namespace weft::test
