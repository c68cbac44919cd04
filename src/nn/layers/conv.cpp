#include "nn/layers/conv.hpp"

namespace weft::nn {

bool transforms_first(const Build& build, std::int64_t layer, std::int64_t in, std::int64_t out,
                      const SparseInput* sparse) {
  if (sparse != nullptr) return true;
  const std::int64_t transforming = build.trains ? 2 * out : out, summing = build.trains && layer > 0 ? 2 * in : in;
  return transforming <= summing;
}

std::int64_t summed_width(const Build& build, std::int64_t layer, bool sparse) {
  const LayerSizes s = sizes_of_layer(build.spec, layer);
  const std::int64_t out = definition_of(build.spec.architecture).hides ? build.spec.hidden : s.out;
  const bool transforms =
      !takes_maxima(build.spec) && ((sparse && layer == 0) || transforms_first(build, layer, s.in, out, nullptr));
  return transforms ? out : s.in;
}

Applied ride_along(bool takes, const Tail& tail, dense::Finish& finish) {
  if (!takes || tail.activation == Activation::elu) return {};
  finish.bias = tail.bias;
  finish.relu = tail.activation == Activation::relu;
  finish.saturates = true;
  return {true, true, false};
}

}  // namespace weft::nn
