#include "nn/checkpoint.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "core/check.hpp"
#include "core/device.hpp"
#include "core/in_quotes.hpp"
#include "nn/checkpoint_file.hpp"

namespace weft::nn {
namespace {

std::string sampling(const SampleOptions& s) {
  if (s.edges.width > 0) return fmt::format(" edges={} width={}", name(s.edges.method), s.edges.width);
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
             o.schedule == LearningRateSchedule::cosine ? fmt::format(" epochs={}", o.epochs) : "") +
         sampling(o.sample) + (device.kind == DeviceKind::cpu ? " on cpu" : " on cuda");
}

/// What tells one dataset from another, as far as sizes do.
std::string data_of(const Trainer& trainer) {
  return fmt::format("{} nodes, {} edges, labels of {}, {} and {}", trainer.graph().num_rows(),
                     trainer.graph().num_edges(), trainer.nodes_in(0), trainer.nodes_in(1), trainer.nodes_in(2));
}

/// The first word of the options in which a checkpoint and this run differ, as both have it.
std::pair<std::string_view, std::string_view> first_difference(std::string_view a, std::string_view b) {
  const auto next_word = [](std::string_view& text) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
  };
  for (;;) {
    const std::string_view of_a = next_word(a), of_b = next_word(b);
    if (of_a != of_b || (a.empty() && b.empty())) return {of_a, of_b};
  }
}

/// A flat array of the file into one on the device.
void put_back(const Tensor& from, const char* name, Tensor& to, const Context& context, const std::string& path) {
  WEFT_CHECK(from.dtype() == to.dtype() && from.shape() == to.shape(), invalid_file,
             "{}: {} is {} {}: expected {} {}; it is of another model", path, name, weft::name(from.dtype()),
             to_string(from.shape()), weft::name(to.dtype()), to_string(to.shape()));
  copy_bytes(context.device(), to.view().mutable_data(), Device{}, from.view().data, from.bytes(), context.stream());
}

void check_same_data(const std::string& path, const Checkpoint& saved, const std::string& sizes,
                     const DataFingerprint& data) {
  WEFT_CHECK(saved.data == sizes, invalid_argument,
             "{} was trained on other data ({}): expected {}; leave resume out or name another file", path,
             weft::in_quotes(saved.data, 80), sizes);
  std::string other;
  for (std::size_t i = 0; i < data.names.size(); ++i)
    if (saved.fingerprint.parts[i] != data.parts[i])
      other += fmt::format("{}{}", other.empty() ? "" : ", ", data.names[i]);
  WEFT_CHECK(other.empty(), invalid_argument,
             "{} was trained on other data of the same size, which differs in: {}; nodes in another order are other "
             "data; leave resume out or name another file",
             path, other);
}

/// Files of earlier versions have no names.
void check_same_classes(const std::string& path, const NodeNames& theirs, const NodeNames& ours) {
  if (!theirs) return;
  WEFT_CHECK(ours, invalid_argument,
             "{} was trained on classes with names (class 0 is {}), and this run's data has none: expected the same; "
             "leave resume out or name another file",
             path, weft::in_quotes(theirs.at(0)));
  for (std::int64_t i = 0; i < ours.count(); ++i)
    WEFT_CHECK(theirs.at(i) == ours.at(i), invalid_argument,
               "{} was trained on classes of other names (class {} is {} where this run has {}): expected the same in "
               "the same order; leave resume out or name another file",
               path, i, weft::in_quotes(theirs.at(i)), weft::in_quotes(ours.at(i)));
}

/// Where features are identity, a model knows its nodes one by one.
void check_same_nodes(const std::string& path, const std::optional<KnownNodes>& theirs,
                      const std::optional<KnownNodes>& ours) {
  if (!theirs || !ours) return;
  WEFT_CHECK(theirs->names == ours->names, invalid_argument,
             "{} was trained on identity features of nodes with other names or ids, or in another order: expected the "
             "same; leave resume out or name another file",
             path);
}

}  // namespace

void save_checkpoint(const std::string& path, Trainer& trainer, const Model& model, const TrainOptions& options,
                     const DataFingerprint& data, std::vector<double> seconds) {
  trainer.context().synchronise();
  CUstream_st* const stream = trainer.context().stream();
  Parameters& parameters = trainer.parameters();
  Checkpoint now;
  now.model = model.clone();
  parameters.copy_to(now.model, parameters.values(), stream);
  now.options = what_counts(options, trainer.context().device());
  now.data = data_of(trainer);
  now.fingerprint = data;
  now.state = trainer.state();
  for (std::int64_t epoch = 0; epoch < now.state.epoch; ++epoch) now.figures.push_back(trainer.published(epoch));
  seconds.resize(static_cast<std::size_t>(now.state.epoch), seconds.empty() ? 0 : seconds.back());
  now.seconds = std::move(seconds);
  now.values = parameters.values().to(Device{}, stream);
  now.first = parameters.first().to(Device{}, stream);
  now.second = parameters.second().to(Device{}, stream);
  now.best = parameters.best().to(Device{}, stream);
  write_checkpoint(path, now);
}

Restored restore(const std::string& path, Trainer& trainer, const Model& model, const TrainOptions& options,
                 const DataFingerprint& data) {
  if (!std::filesystem::exists(path)) return {};
  Checkpoint saved = read_checkpoint(path);
  WEFT_CHECK(saved.model.spec == model.spec, invalid_argument,
             "{} is of another model ({}): expected {}; leave resume out or name another file", path,
             to_string(saved.model.spec), to_string(model.spec));
  const std::string wanted = what_counts(options, trainer.context().device());
  const auto [theirs, ours] = first_difference(saved.options, wanted);
  WEFT_CHECK(
      saved.options == wanted, invalid_argument,
      "{} was trained with other options ({} where this run has {}): expected the same; leave resume out or name "
      "another file",
      path, weft::in_quotes(theirs, 80), weft::in_quotes(ours, 80));
  check_same_data(path, saved, data_of(trainer), data);
  check_same_classes(path, saved.model.class_names, model.class_names);
  check_same_nodes(path, saved.model.known_nodes, model.known_nodes);
  const StepState& state = saved.state;
  WEFT_CHECK(state.epoch <= options.epochs, invalid_argument,
             "{} is {} epochs old and epochs is {}: expected at least as many", path, state.epoch, options.epochs);
  WEFT_CHECK(state.step == state.epoch * trainer.batches(), invalid_file,
             "{}: step is {} after {} epochs: expected {}, one for every batch", path, state.step, state.epoch,
             state.epoch * trainer.batches());
  const Context& context = trainer.context();
  Parameters& parameters = trainer.parameters();
  put_back(saved.values, "training.values", parameters.values(), context, path);
  put_back(saved.first, "training.first", parameters.first(), context, path);
  put_back(saved.second, "training.second", parameters.second(), context, path);
  put_back(saved.best, "training.best", parameters.best(), context, path);
  trainer.refresh_stored();
  trainer.set_published(saved.figures);
  trainer.set_state(state);
  saved.seconds.resize(static_cast<std::size_t>(state.epoch));
  return {state.epoch, std::move(saved.seconds)};
}

}  // namespace weft::nn
