#include "nn/trainer.hpp"

#include <cmath>
#include <cstring>

#include "core/check.hpp"
#include "core/device.hpp"
#include "core/device_room.hpp"
#include "core/expected_runs.hpp"
#include "core/operator_timer.hpp"
#include "nn/sample/weigher.hpp"

namespace weft::nn {
ModelSpec padded(ModelSpec spec, Dtype dtype, Device device) {
  spec.classes = padded_classes(spec.classes, dtype, device);
  return spec;
}

void check_options(const TrainOptions& o) {
  const auto check = [](bool right, const char* name, double value, const char* expected) {
    WEFT_CHECK(right, invalid_argument, "{} is {}: expected {}", name, value, expected);
  };
  const auto positive = [](double x) { return std::isfinite(x) && x > 0; };
  const auto unit = [](double x) { return x >= 0 && x < 1; };
  check(o.epochs >= 1 && o.epochs <= 100'000'000, "epochs", static_cast<double>(o.epochs), "1 to 100000000");
  check(positive(o.lr), "lr", o.lr, "a positive number");
  check(std::isfinite(o.weight_decay) && o.weight_decay >= 0, "weight_decay", o.weight_decay, "0 or more");
  check(unit(o.momentum), "momentum", o.momentum, "a number in [0, 1)");
  check(unit(o.beta1), "beta1", o.beta1, "a number in [0, 1)");
  check(unit(o.beta2), "beta2", o.beta2, "a number in [0, 1)");
  check(positive(o.epsilon), "epsilon", o.epsilon, "a positive number");
  check(o.warmup >= 0, "warmup", static_cast<double>(o.warmup), "0 or more epochs");
  check(o.every >= 1, "every", static_cast<double>(o.every), "1 or more epochs");
  check(positive(o.gamma), "gamma", o.gamma, "a positive number");
  check(o.patience >= 0, "patience", static_cast<double>(o.patience), "0 or more epochs");
  check(o.eval_every >= 0, "eval_every", static_cast<double>(o.eval_every), "0 or more epochs");
  check(o.checkpoint_every >= 0, "checkpoint_every", static_cast<double>(o.checkpoint_every), "0 or more epochs");
  WEFT_CHECK(is_floating(o.dtype), invalid_argument, "dtype is {}: expected f32, f16, bf16 or f64", name(o.dtype));
}

Trainer::Trainer(Context& context, const Dataset& dataset, const Model& model, const TrainOptions& options)
    : context_(context),
      options_(options),
      state_(room_for<StepState>(context, 1, "the state of training")),
      sums_(room_for<SplitSums>(context, 2 * num_splits + 1, "sums over splits")),
      targets_(context, dataset, model.spec.classes),
      parameters_(context, model, options.dtype, true, options.decay_first_layer_only),
      gemm_(context, options.tf32),
      spec_(padded(model.spec, options.dtype, context.device())),
      graph_(graph_for(context, dataset, spec_, options.dtype)) {
  const bool whole = options.sample.method == Sampling::none && options.sample.edges.width == 0;
  // Batches have graphs of their own. Never the number of epochs: training that goes on later keeps its plans.
  const ExpectedRuns expected(context, whole ? 100 : 1);
  {
    Build first = build(slots_, whole);
    first.graph = graph_.graph;
    make_orders(first, static_cast<bool>(dataset.sparse_features), static_cast<bool>(graph_.weights));
  }
  features_ = std::make_shared<const Features>(context, spec_, options.dtype, dataset);
  sampler_ =
      make_sampler({context, graph_, spec_, options.dtype, options.seed, learned_nodes(dataset)}, options.sample);
  std::vector<Block> blocks;
  blocks.push_back(whole_block(context, graph_, spec_, options.dtype));
  network_ = std::make_unique<Network>(build(slots_, whole), features_, std::move(blocks));
  slots_.need_bytes(Slot::fold, fold_bytes(dataset.num_nodes(), num_splits * 4, 1));
  slots_.allocate(context);
  const auto epochs = static_cast<std::size_t>(options.epochs);
  if (context.device().kind == DeviceKind::cuda) {
    shared_ = std::make_unique<cuda::HostShared>(context.device(), sizeof(Published) * epochs + sizeof(std::int64_t));
    done_ = static_cast<std::int64_t*>(shared_->data());
    published_ = reinterpret_cast<Published*>(done_ + 1);
  } else {
    on_host_.resize(epochs);
    done_ = &done_on_host_;
    published_ = on_host_.data();
  }
  StepState first;
  if (options.dtype == Dtype::f16) first.loss_scale = first_loss_scale;
  set_state(first);
}

Trainer::~Trainer() {
  try {
    context_.synchronise();  // what is under way writes to memory that goes with this
  } catch (...) {            // and whoever asked for it has heard of the failure
  }
}

Build Trainer::build(Slots& slots, bool trains) {
  return {context_,
          gemm_,
          parameters_,
          slots,
          spec_,
          {},
          options_.dtype,
          trains,
          options_.seed,
          &as<StepState>(state_)->step,
          options_.recompute,
          options_.fuse};
}

Rate Trainer::rate() const {
  return {options_.schedule, options_.lr, options_.warmup, options_.every, options_.epochs, options_.gamma};
}

void Trainer::forward_and_backward() { run_batch(0); }

double Trainer::run_batch(std::int64_t number) {
  if (sampler_ == nullptr) {
    learn(*network_, slots_, targets_.args(options_.dtype));
    return 1;
  }
  if (sampler_->redraws()) {
    if (redrawn_ == nullptr) redrawn_ = over(sampler_->draw(0, 0));
    {
      const TimedOperator timed(context_, "sampling");
      sampler_->redraw(&as<StepState>(state_)->epoch);
    }
    learn(*redrawn_->network, batch_slots_, redrawn_->loss);
    return redrawn_->batch.share;
  }
  const std::unique_ptr<OverBatch> drawn = over([&] {
    const TimedOperator timed(context_, "sampling");
    return sampler_->draw(next_epoch_, number);
  }());
  learn(*drawn->network, batch_slots_, drawn->loss);
  return drawn->batch.share;
}

std::unique_ptr<Trainer::OverBatch> Trainer::over(Batch batch) {
  const auto read = batch.nodes ? std::make_shared<const Features>(context_, *features_, batch.nodes) : features_;
  auto result = std::make_unique<OverBatch>();
  result->network = std::make_unique<Network>(build(batch_slots_, true), read, std::move(batch.blocks));
  LossArgs& loss = result->loss = targets_.args(options_.dtype);
  loss.rows = result->network->outputs();
  if (batch.nodes) loss.nodes = batch.nodes.view().as<NodeId>();
  if (batch.loss_weights) loss.row_weights = batch.loss_weights.view().as<float>();
  loss.weight *= batch.weight;
  batch_slots_.need_bytes(Slot::fold, fold_bytes(loss.rows, num_splits * 4, 1));
  batch_slots_.allocate(context_);
  result->batch = std::move(batch);
  return result;
}

void Trainer::learn(Network& network, Slots& slots, LossArgs loss) {
  const ConstTensorView logits = network.forward(true);
  loss.stride = logits.shape.width;
  loss.logits = logits.data;
  loss.state = as<StepState>(state_);
  loss.grad = network.logits_grad().mutable_data();
  loss.sums = as<SplitSums>(sums_);
  loss.scratch = slots.data(Slot::fold);
  loss_weight_ = loss.weight;
  run(context_, loss);
  network.backward();
}

void Trainer::step() {
  auto* const state = as<StepState>(state_);
  const bool scales = options_.dtype == Dtype::f16;
  if (scales)
    run(context_, FindOverflowArgs{parameters_.acc(), parameters_.count(), parameters_.grads().view().data, state});
  OptimiseArgs step;
  step.dtype = options_.dtype;
  step.count = parameters_.count();
  step.parameters = parameters_.values().view().mutable_data();
  step.grads = parameters_.grads().view().data;
  step.first = parameters_.first().view().mutable_data();
  step.second = parameters_.second().view().mutable_data();
  step.decays = static_cast<const std::uint8_t*>(parameters_.decays().view().data);
  step.stored = parameters_.stored_values() ? parameters_.stored_values().view().mutable_data() : nullptr;
  step.optimiser = options_.optimiser;
  step.rate = rate();
  step.weight_decay = options_.weight_decay;
  step.momentum = options_.momentum;
  step.beta1 = options_.beta1;
  step.beta2 = options_.beta2;
  step.epsilon = options_.epsilon;
  step.state = state;
  run(context_, step);
}

void Trainer::evaluate() {
  LossArgs loss = targets_.args(options_.dtype);
  const ConstTensorView logits = network_->forward(false);
  loss.stride = logits.shape.width;
  loss.logits = logits.data;
  loss.state = as<StepState>(state_);
  loss.sums = as<SplitSums>(sums_) + num_splits;
  loss.scratch = slots_.data(Slot::fold);
  run(context_, loss);
  run(context_, EndEvaluationArgs{as<StepState>(state_), loss.sums, targets_.weight_of(1), targets_.nodes_in(1) > 0,
                                  options_.best_by, options_.patience, published_, done_});
  run(context_,
      KeepBestArgs{as<StepState>(state_), parameters_.values().view().data, parameters_.best().view().mutable_data(),
                   static_cast<std::int64_t>(parameters_.best().bytes() / 4)});
}

void Trainer::end_step(double share, bool ends_epoch, bool evaluates) {
  auto* const sums = as<SplitSums>(sums_);
  run(context_, EndStepArgs{as<StepState>(state_), sums, sums + 2 * num_splits, loss_weight_ * share, ends_epoch,
                            options_.dtype == Dtype::f16, smallest_loss_scale(loss_weight_), evaluates, rate(),
                            published_, done_});
}

void Trainer::run_epoch(bool evaluates) {
  const std::int64_t count = batches();
  for (std::int64_t batch = 0; batch < count; ++batch) {
    const double share = run_batch(batch);
    step();
    end_step(share, batch + 1 == count, evaluates);
  }
  if (evaluates) evaluate();
}

void Trainer::epoch(bool evaluates) {
  // The first epoch of either kind runs as it is: libraries load what they need then, which nothing may while it is
  // recorded. No two batches are the same work, but for those drawn in place.
  const bool same_work = sampler_ == nullptr || sampler_->redraws();
  const bool replays =
      context_.device().kind == DeviceKind::cuda && same_work && begun_[evaluates ? 1 : 0] > 0 && records_;
  ++begun_[evaluates ? 1 : 0];
  if (!replays) {
    run_epoch(evaluates);
    ++next_epoch_;
    return;
  }
  std::unique_ptr<cuda::Recorded>& recorded = recorded_[evaluates ? 1 : 0];
  if (recorded == nullptr)
    recorded = std::make_unique<cuda::Recorded>(context_.device(), context_.stream(), [&] { run_epoch(evaluates); });
  recorded->launch();
  ++next_epoch_;
}

std::int64_t Trainer::done() const {
  const std::int64_t done = *static_cast<const volatile std::int64_t*>(done_);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return done;
}

SplitSums Trainer::training_sums() const {
  SplitSums sums;
  copy_bytes(Device{}, &sums, context_.device(), sums_.view().data, sizeof(sums), context_.stream());
  return sums;
}

StepState Trainer::state() const {
  StepState state;
  copy_bytes(Device{}, &state, context_.device(), state_.view().data, sizeof(state), context_.stream());
  return state;
}

void Trainer::set_state(const StepState& state) {
  copy_bytes(context_.device(), state_.view().mutable_data(), Device{}, &state, sizeof(state), context_.stream());
  *done_ = next_epoch_ = state.epoch;
}

void Trainer::set_published(const std::vector<Published>& figures) {
  std::copy(figures.begin(), figures.end(), published_);
}

void Trainer::refresh_stored() {
  if (!parameters_.stored_values()) return;
  const Tensor here = parameters_.values().to(Device{}, context_.stream()).to(options_.dtype);
  copy_bytes(context_.device(), parameters_.stored_values().view().mutable_data(), Device{}, here.view().data,
             here.bytes(), context_.stream());
}

}  // namespace weft::nn
