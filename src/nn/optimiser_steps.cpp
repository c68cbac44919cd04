// The public optimiser (include/weft/dense.hpp): the pass that training uses, over each parameter of the caller's.
#include "core/check.hpp"
#include "core/device.hpp"
#include "core/device_room.hpp"
#include "dense/checks.hpp"
#include "nn/step/passes.hpp"
#include "nn/trainer.hpp"
#include "weft/dense.hpp"

namespace weft {

struct OptimiserSteps::State {
  struct Moments {
    TensorView parameter;
    Tensor first, second, decays;
  };
  const Context* context;
  TrainOptions options;
  std::vector<Moments> parameters;
  nn::StepState step;  // on the host; the device's copy follows before each step
  Tensor step_there;
};

OptimiserSteps::OptimiserSteps(const Context& context, std::vector<TensorView> parameters, const TrainOptions& options)
    : state_(std::make_unique<State>()) {
  nn::check_options(options);
  State& s = *state_;
  s.context = &context;
  s.options = options;
  for (const TensorView& parameter : parameters) {
    dense::check_dense(context, parameter, "a parameter");
    WEFT_CHECK(parameter.dtype == Dtype::f32, invalid_argument, "a parameter is {}: expected f32",
               name(parameter.dtype));
    const std::int64_t count = parameter.shape.size();
    const std::vector<std::uint8_t> decays(static_cast<std::size_t>(count), parameter.shape.rank > 1 ? 1 : 0);
    State::Moments moments{parameter, room_for<float>(context, count, "first moments"),
                           room_for<float>(context, count, "second moments"),
                           room_for<std::uint8_t>(context, count, "which parameters decay")};
    put(context, moments.decays, decays.data(), decays.size());
    s.parameters.push_back(std::move(moments));
  }
  s.step_there = room_for<nn::StepState>(context, 1, "the optimiser's step");
}
OptimiserSteps::~OptimiserSteps() = default;
OptimiserSteps::OptimiserSteps(OptimiserSteps&&) noexcept = default;
OptimiserSteps& OptimiserSteps::operator=(OptimiserSteps&&) noexcept = default;

void OptimiserSteps::operator()(std::span<const ConstTensorView> gradients) {
  State& s = *state_;
  WEFT_CHECK(gradients.size() == s.parameters.size(), invalid_argument,
             "there are {} gradients for {} parameters: expected one for each", gradients.size(), s.parameters.size());
  for (std::size_t i = 0; i < gradients.size(); ++i)
    dense::check_like(*s.context, gradients[i], "a gradient", s.parameters[i].parameter, "its parameter");
  put(*s.context, s.step_there, &s.step, sizeof s.step);
  const TrainOptions& o = s.options;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    State::Moments& moments = s.parameters[i];
    nn::OptimiseArgs args;
    args.count = moments.parameter.shape.size();
    args.parameters = moments.parameter.mutable_data();
    args.grads = gradients[i].data;
    args.first = moments.first.view().mutable_data();
    args.second = moments.second.view().mutable_data();
    args.decays = as<std::uint8_t>(moments.decays);
    args.optimiser = o.optimiser;
    args.rate = {o.schedule, o.lr, o.warmup, o.every, o.epochs, o.gamma};
    args.weight_decay = o.weight_decay;
    args.momentum = o.momentum;
    args.beta1 = o.beta1;
    args.beta2 = o.beta2;
    args.epsilon = o.epsilon;
    args.state = as<nn::StepState>(s.step_there);
    if (args.count > 0) nn::run(*s.context, args);
  }
  ++s.step.applied;
  ++s.step.step;
  ++s.step.epoch;
}

}  // namespace weft
