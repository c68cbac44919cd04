// What layers are built from, and memory they share: gradients and other things that live no longer than one layer's
// turn stand in slots, each as large as the largest that stands there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "dense/gemm.hpp"
#include "nn/parameters.hpp"
#include "weft/context.hpp"
#include "weft/graph.hpp"
#include "weft/tensor.hpp"

namespace weft::nn {

enum class Slot : std::uint8_t {
  grad_even,  // gradients of layers' outputs, in turns
  grad_odd,
  first,  // within a layer
  second,
  third,
  fold,    // sums over rows
  output,  // of the last layer that ran, where outputs can be made again
};
constexpr std::size_t num_slots = 7;

class Slots {
 public:
  void need(Slot slot, std::int64_t elements, Dtype dtype) {
    need_bytes(slot, static_cast<std::size_t>(elements) * size_of(dtype));
  }
  void need_bytes(Slot slot, std::size_t bytes) { bytes_[at(slot)] = std::max(bytes_[at(slot)], bytes); }
  /// Once everybody has said what is needed. Of what a network before had, enough stays.
  void allocate(const Context& context) {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if (bytes_[i] > (memory_[i] ? memory_[i].bytes() : 0))
        memory_[i] = Tensor::empty(Shape(static_cast<std::int64_t>((bytes_[i] + 7) / 8)), Dtype::i64,
                                   "what layers share", context.device(), context.stream());
  }
  TensorView view(Slot slot, Shape shape, Dtype dtype) {
    return {data(slot), dtype, shape, memory_[at(slot)].device()};
  }
  void* data(Slot slot) { return memory_[at(slot)].view().mutable_data(); }

 private:
  static std::size_t at(Slot slot) { return static_cast<std::size_t>(slot); }
  std::array<std::size_t, num_slots> bytes_{};
  std::array<Tensor, num_slots> memory_;
};

/// The first rows of a dense matrix.
inline ConstTensorView head(ConstTensorView v, std::int64_t rows) {
  v.shape.rows = rows;
  return v;
}
inline TensorView head(TensorView v, std::int64_t rows) {
  v.shape.rows = rows;
  return v;
}

struct Build {
  Context& context;
  dense::Gemm& gemm;
  Parameters& parameters;
  Slots& slots;
  const ModelSpec& spec;
  /// Of a layer, where the context runs, with self-loops where the model wants them. In a batch whose layers read more
  /// nodes than they write, the nodes written are the first of those read.
  Graph graph;
  Dtype dtype = Dtype::f32;
  bool trains = false;
  std::uint64_t seed = 0;              // of dropout
  const std::int64_t* step = nullptr;  // what dropout counts by, where the context runs
  std::optional<bool> recompute = {};  // TrainOptions has it, and
  std::optional<bool> fuse = {};       // this

  /// Of a batch, or of a graph whose edges have weights: what messages along the edges are multiplied by before they
  /// are added up or compared, weights, degree norms and means included, in the storage type, by edge id. None: as
  /// degrees in the graph have it. Attention knows none, and maxima only the weights of the graph itself.
  ConstTensorView weights = {};
  /// Where the graph has some of another's edges, and no weights say what each stands for: that other one. Sums are
  /// then scaled up to those over all its edges in expectation, and norms go by its degrees; means are over the edges
  /// that are there.
  std::optional<Graph> sampled_from = {};
  /// The graph whose degrees norms divide by.
  const Graph& norm_graph() const { return sampled_from ? *sampled_from : graph; }

  /// Where the gradient of what a layer gives stands. Attention has read it by the time its input's is written, so that
  /// one slot will do, unless it is added to that as well.
  Slot grad_slot(std::int64_t layer) const {
    const bool in_turns = !attends(spec.architecture) || spec.residual;
    return in_turns && layer % 2 != 0 ? Slot::grad_odd : Slot::grad_even;
  }
  std::int64_t nodes() const { return graph.num_rows(); }    // that a layer writes
  std::int64_t sources() const { return graph.num_cols(); }  // that it reads
  Dtype acc() const { return dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32; }
  Tensor empty(Shape shape, Dtype type, const char* what) const {
    return Tensor::empty(shape, type, what, context.device(), context.stream());
  }
};

}  // namespace weft::nn
