// Models whose layers' outputs can be made again in the backward, trained both ways.
#pragma once

#include <fmt/format.h>

#include "nn/network_case.hpp"

namespace weft::test {

/// The same losses to the bit, in less memory by all hidden outputs but one.
inline void expect_outputs_can_be_made_again(Context& context, std::int64_t nodes, Dtype dtype,
                                             std::optional<bool> fuse = {}) {
  struct Case {
    const char* name;
    bool remade;
    void (*change)(ModelSpec&);
  };
  const Case cases[] = {
      {"plain", true, [](ModelSpec& s) { s.dropout = 0; }},
      {"with dropout", true, [](ModelSpec& s) { s.dropout = 0.4f; }},
      {"with elu, dropout and a learned eps", true,
       [](ModelSpec& s) { s.activation = Activation::elu, s.learn_eps = true, s.dropout = 0.4f; }},
      {"summing first with lambda", true, [](ModelSpec& s) { s.lambda = 0.5f, s.hidden = 48; }},
      {"with residuals", false, [](ModelSpec& s) { s.residual = true; }},
      {"with batch norm", false, [](ModelSpec& s) { s.norm = LayerNorm::batch; }},
  };
  const Dataset dataset = small_dataset(nodes, 32, 4, false, false, 43);
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.name, name(dtype)));
    ModelSpec spec = spec_for(dataset, Architecture::gin);
    spec.layers = 4;
    spec.hidden = 32;
    c.change(spec);
    TrainOptions options;
    options.epochs = 6;
    options.dtype = dtype;
    options.fuse = fuse;
    std::vector<double> losses[2];
    std::size_t bytes[2];
    for (const bool again : {false, true}) {
      options.recompute = again;
      losses[again] = losses_of(train(context, dataset, make_model(spec, 1), options));
      nn::Trainer(context, dataset, make_model(spec, 1), options);  // the context keeps its workspace
      const std::size_t before = memory_stats(context.device()).live_bytes;
      const nn::Trainer trainer(context, dataset, make_model(spec, 1), options);
      bytes[again] = memory_stats(context.device()).live_bytes - before;
    }
    EXPECT_EQ(losses[0], losses[1]);
    const std::size_t output = static_cast<std::size_t>(nodes * spec.hidden) * size_of(dtype);
    EXPECT_EQ(bytes[0] - bytes[1], c.remade ? 2 * output : 0);
  }
}

}  // namespace weft::test
