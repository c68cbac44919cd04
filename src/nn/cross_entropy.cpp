// The public loss (include/weft/dense.hpp): the pass that training uses, over one split.
#include <algorithm>
#include <limits>

#include "core/check.hpp"
#include "core/device.hpp"
#include "core/device_room.hpp"
#include "dense/checks.hpp"
#include "nn/step/passes.hpp"
#include "weft/dense.hpp"

namespace weft {
namespace {

void check_host_list(ConstTensorView view, const char* name) {
  WEFT_CHECK(view.given && view.dtype == Dtype::i32 && view.shape.rank == 1, invalid_argument,
             "{} are {} {}: expected i32 of one dimension", name, weft::name(view.dtype), to_string(view.shape));
  WEFT_CHECK(view.device.kind == DeviceKind::cpu, invalid_argument, "{} are on {}: expected them on the host", name,
             to_string(view.device));
  WEFT_CHECK(view.ld == 1 || view.shape.rows <= 1, invalid_argument,
             "{} have numbers {} elements apart: expected one after the other; clone them first", name, view.ld);
}

}  // namespace

struct CrossEntropy::State {
  const Context* context;
  std::int64_t nodes = 0;
  std::int64_t counted = 0;
  std::int32_t largest = -1;  // label of a node that counts
  Tensor labels, split, sums, step_state, scratch;
};

CrossEntropy::CrossEntropy(const Context& context, ConstTensorView labels, ConstTensorView nodes)
    : state_(std::make_unique<State>()) {
  check_host_list(labels, "labels");
  check_host_list(nodes, "nodes");
  State& s = *state_;
  s.context = &context;
  s.nodes = labels.shape.rows;
  std::vector<std::uint8_t> split(static_cast<std::size_t>(s.nodes) + 8);
  for (std::int64_t i = 0; i < nodes.shape.rows; ++i) {
    const std::int32_t node = nodes.as<std::int32_t>()[i];
    WEFT_CHECK(node >= 0 && node < s.nodes, invalid_argument, "nodes[{}] is {}: expected 0 to {}", i, node,
               s.nodes - 1);
    WEFT_CHECK(split[static_cast<std::size_t>(node)] == 0, invalid_argument,
               "nodes[{}] is {} a second time: expected once", i, node);
    split[static_cast<std::size_t>(node)] = 1;
    const std::int32_t label = labels.as<std::int32_t>()[node];
    s.counted += label >= 0 ? 1 : 0;
    s.largest = std::max(s.largest, label);
  }
  WEFT_CHECK(s.counted > 0, invalid_argument, "none of the {} nodes has a label: expected one at least",
             nodes.shape.rows);
  s.labels = room_for<std::int32_t>(context, s.nodes, "labels");
  put(context, s.labels, labels.data, static_cast<std::size_t>(s.nodes) * sizeof(std::int32_t));
  s.split = room_for<std::uint8_t>(context, s.nodes, "which nodes count");
  put(context, s.split, split.data(), static_cast<std::size_t>(s.nodes));
  s.sums = room_for<nn::SplitSums>(context, nn::num_splits, "sums of losses");
  const nn::StepState first;
  s.step_state = room_for<nn::StepState>(context, 1, "a loss scale of 1");
  put(context, s.step_state, &first, sizeof first);
  s.scratch = room_for<std::byte>(context, static_cast<std::int64_t>(loops::fold_bytes(s.nodes, nn::num_splits * 4, 1)),
                                  "partial sums of losses");
}
CrossEntropy::~CrossEntropy() = default;
CrossEntropy::CrossEntropy(CrossEntropy&&) noexcept = default;
CrossEntropy& CrossEntropy::operator=(CrossEntropy&&) noexcept = default;

LossFigures CrossEntropy::operator()(ConstTensorView logits, TensorView grad) {
  State& s = *state_;
  dense::check_dense(*s.context, logits, "logits");
  WEFT_CHECK(logits.dtype == Dtype::f32 && logits.shape.rank == 2 && logits.shape.rows == s.nodes, invalid_argument,
             "logits are {} {}: expected f32 [{}, classes]", name(logits.dtype), to_string(logits.shape), s.nodes);
  WEFT_CHECK(s.largest < logits.shape.width, invalid_argument,
             "logits have {} columns and a label is {}: expected a column for each class", logits.shape.width,
             s.largest);
  if (grad.given) dense::check_like(*s.context, grad, "grad", logits, "logits");
  nn::LossArgs args;
  args.rows = s.nodes;
  args.classes = args.stride = logits.shape.width;
  args.logits = logits.data;
  args.labels = as<std::int32_t>(s.labels);
  args.split = as<std::uint8_t>(s.split);
  args.weight = 1 / static_cast<double>(s.counted);
  args.state = as<nn::StepState>(s.step_state);
  args.grad = grad.given ? grad.mutable_data() : nullptr;
  args.sums = as<nn::SplitSums>(s.sums);
  args.scratch = s.scratch.view().mutable_data();
  nn::run(*s.context, args);
  nn::SplitSums sums;
  copy_bytes(Device{}, &sums, s.context->device(), args.sums, sizeof sums, s.context->stream());
  return {sums.loss * args.weight, sums.accuracy()};
}

}  // namespace weft
