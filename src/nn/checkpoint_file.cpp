#include "nn/checkpoint_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/check.hpp"
#include "graph/io/naming.hpp"
#include "nn/model_file.hpp"

namespace weft::nn {
namespace {

constexpr const char *options_key = "weft.training", *data_key = "weft.data", *fingerprint_key = "weft.fingerprint";
constexpr const char* seconds_name = "training.seconds";
constexpr std::int64_t state_words = sizeof(StepState) / 8, figure_words = sizeof(Published) / 8;
static_assert(sizeof(StepState) % 8 == 0 && sizeof(Published) % 8 == 0);

Tensor words_of(const void* data, std::int64_t words) {
  Tensor tensor = Tensor::empty(Shape(words), Dtype::i64, "a checkpoint");
  std::memcpy(tensor.view().mutable_data(), data, tensor.bytes());
  return tensor;
}

const Tensor& words_named(const TensorFile& file, const char* name, std::int64_t words, const std::string& path) {
  const Tensor& tensor = tensor_named(file, name, path);
  WEFT_CHECK(tensor.dtype() == Dtype::i64 && tensor.shape() == Shape(words), invalid_file,
             "{}: {} is {} {}: expected i64 [{}]", path, name, weft::name(tensor.dtype()), to_string(tensor.shape()),
             words);
  return tensor;
}

void check_count(std::string_view what, std::int64_t value, std::int64_t least, std::int64_t most) {
  WEFT_CHECK(value >= least && value <= most, invalid_file, "{} is {}: expected {} to {}", what, value, least, most);
}

void check_share(std::string_view what, double value) {
  WEFT_CHECK(value >= 0 && value <= 1, invalid_file, "{} is {}: expected 0 to 1", what, value);
}

void check_loss_scale(double value) {
  WEFT_CHECK(value >= 0x1p-24 && value <= static_cast<double>(largest_loss_scale), invalid_file,
             "the loss scale is {}: expected 2^-24 to 2^24", value);
}

void check_state(const StepState& s) {
  WEFT_CHECK(s.step >= s.epoch && (s.epoch == 0 ? s.step == 0 : s.step % s.epoch == 0), invalid_file,
             "step is {} after {} epochs: expected as many steps in each epoch", s.step, s.epoch);
  check_count("applied", s.applied, 0, s.step);
  check_count("skipped", s.skipped, 0, s.step - s.applied);
  check_loss_scale(static_cast<double>(s.loss_scale));
  check_count("good_steps", s.good_steps, 0, steps_between_doublings - 1);
  check_count("overflow", s.overflow, 0, 0);  // it is of a step, and steps are over
  check_count("stopped", s.stopped, 0, 1);
  check_count("improved", s.improved, 0, 1);
  check_count("best_epoch", s.best_epoch, 0, s.epoch);
  check_count("since_best", s.since_best, 0, s.epoch - s.best_epoch);
  if (s.best_epoch > 0)
    check_share("best_accuracy", s.best_accuracy);
  else
    WEFT_CHECK(s.best_accuracy == -1, invalid_file, "best_accuracy is {} without a best epoch: expected -1",
               s.best_accuracy);
}

/// `figures` up to the one at `i` name no epoch after it, and the best one was evaluated. Losses may be any number, as
/// those of training may.
void check_figures(const std::vector<Published>& figures, std::size_t i) {
  const Published& f = figures[i];
  check_count("evaluated", f.evaluated, 0, 1);
  check_count("stopped", f.stopped, i > 0 ? figures[i - 1].stopped : 0, 1);
  check_count("best_epoch", f.best_epoch, i > 0 ? figures[i - 1].best_epoch : 0, static_cast<std::int64_t>(i) + 1);
  WEFT_CHECK(f.best_epoch == 0 || figures[static_cast<std::size_t>(f.best_epoch - 1)].evaluated == 1, invalid_file,
             "best_epoch is {}, which was not evaluated", f.best_epoch);
  check_share("train_accuracy", f.train_accuracy);
  if (f.evaluated != 0) {
    check_share("val_accuracy", f.val_accuracy);
    check_share("test_accuracy", f.test_accuracy);
  }
  check_loss_scale(f.loss_scale);
}

void check_course(const StepState& state, const std::vector<Published>& figures, const std::string& path) {
  io::naming_part(path + ": training.state", [&] { check_state(state); });
  for (std::size_t i = 0; i < figures.size(); ++i)
    io::naming_part(fmt::format("{}: training.figures of epoch {}", path, i + 1), [&] { check_figures(figures, i); });
  if (figures.empty()) return;
  const Published& last = figures.back();
  WEFT_CHECK(last.best_epoch == state.best_epoch && last.stopped == state.stopped, invalid_file,
             "{}: training.figures end with best_epoch {} and stopped {}, training.state with {} and {}: expected the "
             "same",
             path, last.best_epoch, last.stopped, state.best_epoch, state.stopped);
}

void check_seconds(const std::vector<double>& seconds) {
  double before = 0;
  for (std::size_t i = 0; i < seconds.size(); before = seconds[i++])
    WEFT_CHECK(std::isfinite(seconds[i]) && seconds[i] >= before, invalid_file,
               "epoch {} ended after {} s: expected a finite number from {} on", i + 1, seconds[i], before);
}

/// Of as many epochs as there are figures.
std::vector<double> seconds_in(const TensorFile& file, std::size_t epochs, const std::string& path) {
  if (epochs == 0 || std::ranges::count(file.tensors, seconds_name, &NamedTensor::name) == 0) return {};
  const Tensor& tensor = tensor_named(file, seconds_name, path);
  WEFT_CHECK(tensor.dtype() == Dtype::f64 && tensor.shape() == Shape(static_cast<std::int64_t>(epochs)), invalid_file,
             "{}: {} is {} {}: expected f64 [{}]", path, seconds_name, weft::name(tensor.dtype()),
             to_string(tensor.shape()), epochs);
  const auto values = tensor.span<double>();
  std::vector<double> seconds(values.begin(), values.end());
  io::naming_part(fmt::format("{}: {}", path, seconds_name), [&] { check_seconds(seconds); });
  return seconds;
}

const std::string& text_of(const TensorFile& file, const char* key, const std::string& path) {
  const auto found = file.metadata.find(key);
  WEFT_CHECK(found != file.metadata.end(), invalid_file, "{} has no '{}' in its metadata: expected a checkpoint", path,
             key);
  return found->second;
}

Checkpoint checkpoint_in(TensorFile file, const std::string& path) {
  Checkpoint c;
  c.model = take_model(file, "checkpoint", path);
  c.options = text_of(file, options_key, path);
  c.data = text_of(file, data_key, path);
  c.fingerprint = io::naming_part(path, [&] { return parse_fingerprint(text_of(file, fingerprint_key, path)); });
  std::memcpy(&c.state, words_named(file, "training.state", state_words, path).view().data, sizeof(c.state));
  // Figures take memory that the file has, so the number of epochs is known to be honest after this.
  constexpr std::int64_t most_epochs = std::int64_t{1} << 40;
  io::naming_part(path + ": training.state", [&] { check_count("epoch", c.state.epoch, 0, most_epochs); });
  if (c.state.epoch > 0) {
    const Tensor& words = words_named(file, "training.figures", c.state.epoch * figure_words, path);
    c.figures.resize(static_cast<std::size_t>(c.state.epoch));
    std::memcpy(c.figures.data(), words.view().data, words.bytes());
  }
  check_course(c.state, c.figures, path);
  c.seconds = seconds_in(file, c.figures.size(), path);
  const std::pair<const char*, Tensor*> arrays[] = {{"training.values", &c.values},
                                                    {"training.first", &c.first},
                                                    {"training.second", &c.second},
                                                    {"training.best", &c.best}};
  for (const auto& [name, to] : arrays) {
    *to = std::move(tensor_named(file, name, path));
    const bool real = to->dtype() == Dtype::f32 || to->dtype() == Dtype::f64;
    WEFT_CHECK(real && to->dtype() == c.values.dtype() && to->shape() == Shape(c.values.shape().rows), invalid_file,
               "{}: {} is {} {}: expected one row of f32 or f64, as training.values", path, name,
               weft::name(to->dtype()), to_string(to->shape()));
  }
  return c;
}

}  // namespace

void write_checkpoint(const std::string& path, const Checkpoint& c) {
  TensorFile file;
  put_model(file, c.model, "checkpoint");
  file.metadata[options_key] = c.options;
  file.metadata[data_key] = c.data;
  file.metadata[fingerprint_key] = to_string(c.fingerprint);
  file.tensors.push_back({"training.values", c.values.clone()});
  file.tensors.push_back({"training.first", c.first.clone()});
  file.tensors.push_back({"training.second", c.second.clone()});
  file.tensors.push_back({"training.best", c.best.clone()});
  file.tensors.push_back({"training.state", words_of(&c.state, state_words)});
  if (!c.figures.empty())
    file.tensors.push_back(
        {"training.figures", words_of(c.figures.data(), static_cast<std::int64_t>(c.figures.size()) * figure_words)});
  if (!c.seconds.empty()) {
    Tensor seconds = Tensor::empty(Shape(static_cast<std::int64_t>(c.seconds.size())), Dtype::f64, "a checkpoint");
    std::ranges::copy(c.seconds, seconds.span<double>().begin());
    file.tensors.push_back({seconds_name, std::move(seconds)});
  }
  write_tensors(path, file);
}

Checkpoint read_checkpoint(const std::string& path) { return checkpoint_in(read_tensors(path), path); }

Checkpoint read_checkpoint(const io::Source& source) { return checkpoint_in(read_tensors(source), source.path); }

}  // namespace weft::nn
