// A call on a graph: where it runs, and what its plan is kept under.
#pragma once

#include <initializer_list>

#include "graphs.hpp"
#include "operators.hpp"
#include "runtime.hpp"
#include "weft/plan.hpp"

namespace weft::pytorch {

/// An enumerator among the numbers of a key.
template <class Enum>
constexpr std::int64_t number(Enum value) {
  return static_cast<std::int64_t>(value);
}

/// The graph of a call, kept for its time, and a context that expects as many runs as the graph will see.
struct Call {
  std::shared_ptr<HeldGraph> held;
  Context context;
  Tensor like;  // where results go

  Call(const Rows& rows, std::int64_t key, std::int64_t num_sources)
      : held(graph_of(rows, key, num_sources)), context(context_of(offsets_of(rows))), like(rows[0]) {
    if (held->lasts()) context.expect_runs(runs_of_a_held_graph);
  }
  /// Of a graph that Python holds; results go where that tensor is, and so must the graph be.
  Call(std::int64_t key, const Tensor& tensor)
      : held(held_graph(key, device_of(tensor))), context(context_of(tensor)), like(tensor) {
    context.expect_runs(runs_of_a_held_graph);
  }
  const Graph& graph() const { return held->graph(); }

  /// What plans depend on: the shape, type and place of every tensor, the threads, and numbers of the caller's.
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

/// A gradient that is wanted, like the tensor that it belongs to; else one without elements.
inline Tensor gradient_of(bool wanted, const ConstTensorView& tensor, const Tensor& like) {
  return wanted ? empty(tensor.shape, tensor.dtype, like) : nothing(Dtype::f32, like);
}
/// The same; none where it is not wanted.
inline MaybeTensor gradient_if(bool wanted, const ConstTensorView& tensor, const Tensor& like) {
  return wanted ? MaybeTensor(empty(tensor.shape, tensor.dtype, like)) : std::nullopt;
}
inline Tensor or_nothing(const MaybeTensor& gradient, const Tensor& like) {
  return gradient ? *gradient : nothing(Dtype::f32, like);
}
inline TensorView into(const MaybeTensor& tensor) { return tensor ? writable(*tensor) : TensorView{}; }
inline TensorView into(bool wanted, const Tensor& tensor) { return wanted ? writable(tensor) : TensorView{}; }

}  // namespace weft::pytorch
