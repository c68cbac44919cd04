// A call on a graph: its context, and the key of its plan.
#pragma once

#include <initializer_list>

#include "graphs.hpp"
#include "operators.hpp"
#include "runtime.hpp"
#include "weft/plan.hpp"

namespace weft::pytorch {

/// An enumerator's value, for a plan's key.
template <class Enum>
constexpr std::int64_t number(Enum value) {
  return static_cast<std::int64_t>(value);
}

/// The graph of a call, held while the call runs, and a context that expects as many runs as the graph will see.
struct Call {
  std::shared_ptr<HeldGraph> held;
  Context context;
  Tensor like;  // results go on its device

  Call(const Rows& rows, std::int64_t key, std::int64_t num_sources)
      : held(graph_of(rows, key, num_sources)), context(context_of(offsets_of(rows))), like(rows[0]) {
    if (held->lasts()) context.expect_runs(runs_of_a_held_graph);
  }
  /// For a graph that Python holds; the graph and the results are on that tensor's device.
  Call(std::int64_t key, const Tensor& tensor)
      : held(held_graph(key, device_of(tensor))), context(context_of(tensor)), like(tensor) {
    context.expect_runs(runs_of_a_held_graph);
  }
  const Graph& graph() const { return held->graph(); }

  /// What plans depend on: the shape, type, stride and alignment of every tensor, the threads, and further numbers of
  /// the caller.
  PlanKey::Numbers key(OpKind kind, std::initializer_list<const ConstTensorView*> tensors,
                       std::initializer_list<std::int64_t> more) const {
    PlanKey::Numbers numbers{number(kind), context.threads()};
    for (const ConstTensorView* tensor : tensors) {
      const Shape& shape = tensor->shape;
      if (!tensor->given) {
        numbers.push_back(-1);
        continue;
      }
      numbers.insert(numbers.end(), {number(tensor->dtype), shape.rank, shape.heads, shape.width, tensor->ld,
                                     static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor->data) % 16)});
    }
    numbers.insert(numbers.end(), more);
    return numbers;
  }
};

/// An uninitialised gradient like its tensor if it is wanted, else a tensor without elements.
inline Tensor gradient_of(bool wanted, const ConstTensorView& tensor, const Tensor& like) {
  return wanted ? empty(tensor.shape, tensor.dtype, like) : nothing(Dtype::f32, like);
}
/// The same; nullopt if it is not wanted.
inline MaybeTensor gradient_if(bool wanted, const ConstTensorView& tensor, const Tensor& like) {
  return wanted ? MaybeTensor(empty(tensor.shape, tensor.dtype, like)) : std::nullopt;
}
inline Tensor or_nothing(const MaybeTensor& gradient, const Tensor& like) {
  return gradient ? *gradient : nothing(Dtype::f32, like);
}
inline TensorView into(const MaybeTensor& tensor) { return tensor ? writable(*tensor) : TensorView{}; }
inline TensorView into(bool wanted, const Tensor& tensor) { return wanted ? writable(tensor) : TensorView{}; }

}  // namespace weft::pytorch
