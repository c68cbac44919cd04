// One model in training: a step is a pass forward, a pass back and a move of the parameters. On the whole graph an
// epoch is one, put into the context's stream without a word from the host, and so it is on a batch that is drawn in
// place; on other batches it is one for each, every batch being drawn, planned and run in turn. What comes of an epoch
// is published in memory the host reads whenever it likes.
#pragma once

#include <memory>
#include <vector>

#include "nn/cuda/recorded.hpp"
#include "nn/network.hpp"
#include "nn/targets.hpp"

namespace weft::nn {

/// The spec a network of the model is built from.
ModelSpec padded(ModelSpec spec, Dtype dtype, Device device);
/// An Error that names the option which makes no sense.
void check_options(const TrainOptions& options);

class Trainer {
 public:
  Trainer(Context& context, const Dataset& dataset, const Model& model, const TrainOptions& options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// The next epoch, and with `evaluates` a look at the splits after it. Does not wait for it on a GPU.
  void epoch(bool evaluates);
  /// Whether epochs are recorded and replayed, where that is possible, or run one by one.
  void record(bool records) { records_ = records; }
  /// Epochs that are over.
  std::int64_t done() const;
  /// Of an epoch that is over, counted from 0.
  const Published& published(std::int64_t epoch) const { return published_[epoch]; }

  // What a checkpoint holds. The state is a copy; all wait for the device.
  StepState state() const;
  void set_state(const StepState& state);
  /// Published figures of the epochs that are over come with it.
  void set_published(const std::vector<Published>& figures);
  Parameters& parameters() { return parameters_; }
  Context& context() { return context_; }
  /// After parameters were replaced: their copies in the storage type.
  void refresh_stored();

  // The parts of an epoch, for checks.
  /// Of the whole graph, or of the first batch of the next epoch.
  void forward_and_backward();
  /// Of the last forward pass in training; waits for the device.
  SplitSums training_sums() const;
  std::int64_t nodes_in(int split) const { return targets_.nodes_in(split); }  // labelled ones
  const Graph& graph() const { return graph_.graph; }
  /// What the last forward pass multiplied its sum of losses by.
  double loss_weight() const { return loss_weight_; }
  std::int64_t batches() const { return sampler_ != nullptr ? sampler_->batches() : 1; }  // an epoch's

 private:
  Build build(Slots& slots, bool trains);
  void run_epoch(bool evaluates);
  /// Forward and back through a batch of the next epoch, or the whole graph; gives its share of the epoch.
  double run_batch(std::int64_t number);
  /// A network over a batch, planned and with its memory in place.
  struct OverBatch {
    Batch batch;
    std::unique_ptr<Network> network;
    LossArgs loss;
  };
  std::unique_ptr<OverBatch> over(Batch batch);
  void learn(Network& network, Slots& slots, LossArgs loss);
  void step();
  void end_step(double share, bool ends_epoch, bool evaluates);
  void evaluate();
  Rate rate() const;

  Context& context_;
  TrainOptions options_;
  Tensor state_, sums_;  // StepState; SplitSums of a training pass, of an evaluation, and one of the epoch so far
  Targets targets_;
  Parameters parameters_;
  dense::Gemm gemm_;
  Slots slots_, batch_slots_;
  ModelSpec spec_;
  ModelGraph graph_;
  std::shared_ptr<const Features> features_;
  std::unique_ptr<Sampler> sampler_;    // none: the whole graph
  std::unique_ptr<Network> network_;    // over the whole graph; where there is a sampler, for evaluations only
  std::unique_ptr<OverBatch> redrawn_;  // where the sampler redraws
  double loss_weight_ = 1;
  std::int64_t next_epoch_ = 0;
  std::unique_ptr<cuda::HostShared> shared_;
  std::vector<Published> on_host_;
  std::int64_t done_on_host_ = 0;
  Published* published_ = nullptr;
  std::int64_t* done_ = nullptr;
  std::int64_t begun_[2] = {};  // epochs without and with an evaluation
  bool records_ = true;
  std::unique_ptr<cuda::Recorded> recorded_[2];  // without and with an evaluation
};

}  // namespace weft::nn
