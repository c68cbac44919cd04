#include "nn/checkpoint.hpp"

#include <fmt/ranges.h>

#include <bit>
#include <cstring>
#include <filesystem>

#include "core/check.hpp"
#include "core/device.hpp"
#include "nn/model_file.hpp"

namespace weft::nn {
namespace {

constexpr const char *options_key = "weft.training", *data_key = "weft.data";
constexpr std::int64_t state_words = sizeof(StepState) / 8, figure_words = sizeof(Published) / 8;

std::string sampling(const SampleOptions& s) {
  if (s.method == Sampling::none) return "";
  return fmt::format(" sampler={} batch={} length={} fanouts={} batches={} coverage={}", name(s.method), s.batch,
                     s.walk_length, fmt::join(s.fanouts, ","), s.batches, s.coverage);
}

/// Everything the course of training depends on but the number of epochs, unless the rate follows that.
std::string what_counts(const TrainOptions& o, Device device) {
  return fmt::format(
             "{} lr={} decay={}{} momentum={} beta={},{} epsilon={} {} warmup={} every={} gamma={} patience={} "
             "eval={} by={} {}{} seed={}{}",
             name(o.optimiser), o.lr, o.weight_decay, o.decay_first_layer_only ? " (first layer)" : "", o.momentum,
             o.beta1, o.beta2, o.epsilon, name(o.schedule), o.warmup, o.every, o.gamma, o.patience, o.eval_every,
             name(o.best_by), name(o.dtype), o.tf32 ? " tf32" : "", o.seed,
             o.schedule == Schedule::cosine ? fmt::format(" epochs={}", o.epochs) : "") +
         sampling(o.sample) + (device.kind == DeviceKind::cpu ? " on cpu" : " on cuda");
}

/// What tells one dataset from another, as far as sizes do.
std::string data_of(const Trainer& trainer) {
  return fmt::format("{} nodes, {} edges, labels of {}, {} and {}", trainer.graph().num_rows(),
                     trainer.graph().num_edges(), trainer.nodes_in(0), trainer.nodes_in(1), trainer.nodes_in(2));
}

Tensor words_of(const void* data, std::int64_t words) {
  Tensor tensor = Tensor::empty(Shape(words), Dtype::i64, "a checkpoint");
  std::memcpy(tensor.view().mutable_data(), data, tensor.bytes());
  return tensor;
}

/// A flat array of the file into one on the device.
void put_back(const TensorFile& file, const char* name, Tensor& to, const Context& context, const std::string& path) {
  const Tensor& from = tensor_named(file, name, path);
  WEFT_CHECK(from.dtype() == to.dtype() && from.shape() == to.shape(), invalid_file,
             "{}: {} is {} {}: expected {} {}; it is of another model", path, name, weft::name(from.dtype()),
             to_string(from.shape()), weft::name(to.dtype()), to_string(to.shape()));
  copy_bytes(context.device(), to.view().mutable_data(), Device{}, from.view().data, from.bytes(), context.stream());
}

}  // namespace

void save_checkpoint(const std::string& path, Trainer& trainer, const Model& model, const TrainOptions& options) {
  trainer.context().synchronise();
  CUstream_st* const stream = trainer.context().stream();
  const StepState state = trainer.state();
  Parameters& parameters = trainer.parameters();
  Model now = model.clone();
  parameters.copy_to(now, parameters.values(), stream);
  TensorFile file;
  put_model(file, now, "checkpoint");
  file.metadata[options_key] = what_counts(options, trainer.context().device());
  file.metadata[data_key] = data_of(trainer);
  const auto keep = [&](const char* name, const Tensor& tensor) {
    file.tensors.push_back({name, tensor.to(Device{}, stream)});
  };
  keep("training.values", parameters.values());
  keep("training.first", parameters.first());
  keep("training.second", parameters.second());
  keep("training.best", parameters.best());
  file.tensors.push_back({"training.state", words_of(&state, state_words)});
  if (state.epoch > 0)
    file.tensors.push_back({"training.figures", words_of(&trainer.published(0), state.epoch * figure_words)});
  write_tensors(path, file);
}

std::int64_t restore(const std::string& path, Trainer& trainer, const Model& model, const TrainOptions& options) {
  if (!std::filesystem::exists(path)) return 0;
  TensorFile file = read_tensors(path);
  const Model saved = take_model(file, "checkpoint", path);
  WEFT_CHECK(saved.spec == model.spec, invalid_argument,
             "{} is of another model ({}): expected {}; leave resume out or name another file", path,
             to_string(saved.spec), to_string(model.spec));
  const auto training = file.metadata.find(options_key);
  WEFT_CHECK(training != file.metadata.end() && training->second == what_counts(options, trainer.context().device()),
             invalid_argument,
             "{} was trained with other options ({}): expected {}; leave resume out or name another file", path,
             training != file.metadata.end() ? training->second : "none",
             what_counts(options, trainer.context().device()));
  const auto data = file.metadata.find(data_key);
  WEFT_CHECK(data != file.metadata.end() && data->second == data_of(trainer), invalid_argument,
             "{} was trained on other data ({}): expected {}; leave resume out or name another file", path,
             data != file.metadata.end() ? data->second : "unknown", data_of(trainer));
  const Tensor& words = tensor_named(file, "training.state", path);
  WEFT_CHECK(words.dtype() == Dtype::i64 && words.shape().size() == state_words, invalid_file,
             "{}: training.state is {} {}: expected i64 [{}]", path, name(words.dtype()), to_string(words.shape()),
             state_words);
  StepState state;
  std::memcpy(&state, words.view().data, sizeof(state));
  WEFT_CHECK(state.epoch >= 0 && state.epoch <= options.epochs, invalid_argument,
             "{} is {} epochs old and epochs is {}: expected at least as many", path, state.epoch, options.epochs);
  std::vector<Published> figures(static_cast<std::size_t>(state.epoch));
  if (state.epoch > 0) {
    const Tensor& published = tensor_named(file, "training.figures", path);
    WEFT_CHECK(published.dtype() == Dtype::i64 && published.shape().size() == state.epoch * figure_words, invalid_file,
               "{}: training.figures is {} {}: expected i64 [{}]", path, name(published.dtype()),
               to_string(published.shape()), state.epoch * figure_words);
    std::memcpy(figures.data(), published.view().data, published.bytes());
  }
  const Context& context = trainer.context();
  Parameters& parameters = trainer.parameters();
  put_back(file, "training.values", parameters.values(), context, path);
  put_back(file, "training.first", parameters.first(), context, path);
  put_back(file, "training.second", parameters.second(), context, path);
  put_back(file, "training.best", parameters.best(), context, path);
  trainer.refresh_stored();
  trainer.set_published(figures);
  trainer.set_state(state);
  return state.epoch;
}

}  // namespace weft::nn
