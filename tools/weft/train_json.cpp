// Training runs as JSON: options, results, every epoch. What is not finite is written as null.
#include <nlohmann/json.hpp>

#include "machine.hpp"
#include "model_facts.hpp"
#include "operator_times.hpp"
#include "options.hpp"
#include "train_run.hpp"
#include "weft/version.hpp"

namespace weft::tool {
namespace {

nlohmann::json sampling_json(const SampleOptions& sample) {
  if (sample.edges.width > 0)
    return {{"edges", {{"method", name(sample.edges.method)}, {"width", sample.edges.width}}}};
  return {{"method", name(sample.method)}, {"batch", sample.batch},     {"walk_length", sample.walk_length},
          {"fanouts", sample.fanouts},     {"batches", sample.batches}, {"coverage", sample.coverage}};
}

nlohmann::json options_json(const TrainOptions& options) {
  return {{"epochs", options.epochs},
          {"optimiser", name(options.optimiser)},
          {"lr", options.lr},
          {"weight_decay", options.weight_decay},
          {"decay_first_layer_only", options.decay_first_layer_only},
          {"momentum", options.momentum},
          {"beta1", options.beta1},
          {"beta2", options.beta2},
          {"epsilon", options.epsilon},
          {"schedule", name(options.schedule)},
          {"warmup", options.warmup},
          {"every", options.every},
          {"gamma", options.gamma},
          {"patience", options.patience},
          {"eval_every", options.eval_every},
          {"best_by", name(options.best_by)},
          {"dtype", name(options.dtype)},
          {"tf32", options.tf32},
          {"recompute", options.recompute ? nlohmann::json(*options.recompute) : nlohmann::json(nullptr)},
          {"fuse", options.fuse ? nlohmann::json(*options.fuse) : nlohmann::json(nullptr)},
          {"seed", options.seed},
          {"sample", sampling_json(options.sample)},
          {"ignore_weights", options.ignore_weights},
          {"checkpoint_every", options.checkpoint_every},
          {"resume", options.resume}};
}

nlohmann::json epoch_json(const EpochFigures& figures) {
  return {{"epoch", figures.epoch},
          {"loss", figures.loss},
          {"train_accuracy", figures.train_accuracy},
          {"val_accuracy", figures.val_accuracy},
          {"test_accuracy", figures.test_accuracy},
          {"val_loss", figures.val_loss},
          {"lr", figures.lr},
          {"loss_scale", figures.loss_scale},
          {"seconds", figures.seconds}};
}

nlohmann::json epochs_json(const TrainRun& run) {
  nlohmann::json epochs = nlohmann::json::array();
  for (const EpochFigures& figures : run.result.epochs) epochs.push_back(epoch_json(figures));
  return epochs;
}

nlohmann::json result_json(const Trained& trained, const TrainRun& run) {
  const TrainResult& result = run.result;
  nlohmann::json json = {
      {"best_epoch", result.best_epoch},         {"best_by", trained.best_by()},
      {"batches_an_epoch", result.batches},      {"steps", result.steps()},
      {"skipped_steps", result.skipped_steps},   {"measure", measure_of(trained.dataset)},
      {"train_accuracy", result.train_accuracy}, {"val_accuracy", result.val_accuracy},
      {"test_accuracy", result.test_accuracy},   {"seconds", result.seconds},
      {"epoch_seconds", result.epoch_seconds},   {"epochs_a_second", run.epochs_a_second()},
      {"peak_bytes", result.peak_bytes},         {"parameters", trained.best().result.model.num_parameters()},
      {"stopped_early", result.stopped_early},   {"interrupted", result.interrupted}};
  if (!result.operators.empty()) json["operators"] = operators_json(result.operators);
  return json;
}

nlohmann::json to_json(const Spread& spread) { return {{"mean", spread.mean}, {"deviation", spread.deviation}}; }

}  // namespace

nlohmann::json Trained::json() const {
  nlohmann::json all = {{"command", request.command},
                        {"version", version()},
                        {"commit", build_commit()},
                        {"date", utc_now()},
                        {"device_line", device_line(context)},
                        {"data", data_json(dataset, request.data)},
                        {"model", spec_json(best().result.model.spec)},
                        {"options", options_json(request.options)},
                        {"device", to_string(context.device())},
                        {"threads", context.threads()},
                        {"result", result_json(*this, best())},
                        {"epochs", epochs_json(best())}};
  if (!several()) return all;
  all["runs"] = nlohmann::json::array();
  for (const TrainRun& run : runs)
    all["runs"].push_back({{"seed", run.seed}, {"result", result_json(*this, run)}, {"epochs", epochs_json(run)}});
  all["over_runs"] = {{"asked_for", request.runs},
                      {"finished", finished()},
                      {"best_run", best_index() + 1},
                      {"val_accuracy", to_json(spread(&TrainResult::val_accuracy))},
                      {"test_accuracy", to_json(spread(&TrainResult::test_accuracy))}};
  return all;
}

}  // namespace weft::tool
