// Trains a small model with an installed weft: what is linked is weft::nn, which brings the operators along.
#include <cstdio>
#include <weft/weft.hpp>

int main() {
  weft::Context context = weft::Context::cpu(2);
  const weft::Dataset data = weft::open_dataset("citations:nodes=200");
  weft::ModelSpec spec = weft::ModelSpec::of(weft::Architecture::gcn);
  spec.inputs = data.num_features();
  spec.classes = data.classes;
  weft::TrainOptions options = weft::TrainOptions::of(spec.architecture);
  options.epochs = 3;
  const weft::TrainResult result = weft::train(context, data, weft::make_model(spec, 1), options);
  std::printf("trained %d epochs\n", static_cast<int>(result.epochs.size()));
}
