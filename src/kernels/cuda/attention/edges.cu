// The edge part of attention, one thread per edge (a warp, where scores come from vectors): scores, weights from the
// rows' statistics, and what leaky_relu does to gradients. Storage types are looked at when the kernel runs.
#include "core/cuda/storage.cuh"
#include "core/loops/cuda/each.cuh"
#include "kernels/cuda/primitives/softmax_part.cuh"
#include "kernels/signatures.hpp"

namespace weft::cuda {
namespace {

template <class Acc>
__device__ Acc load(const Operand& o, std::int64_t row, std::int64_t head) {
  return load_as<Acc>(o.dtype, o.data, row * o.row_stride + head * o.head_stride);
}
template <class Acc>
__device__ Acc load(const Result& r, std::int64_t row, std::int64_t head) {
  return load_as<Acc>(r.dtype, r.data, row * r.row_stride + head);
}

__device__ EdgeId id_of(const GraphView& graph, std::int64_t k) {
  return graph.edge_ids != nullptr ? graph.edge_ids[k] : k;
}

/// What gat's leaky_relu is applied to.
template <class Acc>
__device__ Acc sum_of(const AttentionArgs& args, std::int64_t k, std::int64_t id, std::int64_t head) {
  const Acc z = load<Acc>(args.src, args.graph.cols[k], head) + load<Acc>(args.dst, args.graph.rows[k], head);
  return args.edge.data != nullptr ? z + load<Acc>(args.edge, id, head) : z;
}

/// What is written of an edge: its score, or what it weighs by the row's statistics.
template <class Acc, bool Weighs>
__device__ void write(const AttentionArgs& forward, const Result& to, Acc score, std::int64_t row, EdgeId id,
                      std::int64_t head) {
  if constexpr (Weighs) {
    const SoftmaxPart<Acc> part{load<Acc>(forward.row_max, row, head), load<Acc>(forward.row_sum, row, head)};
    score = part.weight(score);
  }
  store_as(to.dtype, to.data, id * to.row_stride + head, score);
}

template <class Acc, bool Weighs>
struct WriteSums {
  AttentionArgs forward;
  Result to;
  bool biased;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t row = forward.graph.rows[k], id = id_of(forward.graph, k);
    for (std::int64_t h = 0; h < forward.heads; ++h) {
      const Acc z = sum_of<Acc>(forward, k, id, h);
      Acc score = z > 0 ? z : z * static_cast<Acc>(forward.slope);
      if (biased) score += load<Acc>(forward.bias, id, h);
      write<Acc, Weighs>(forward, to, score, row, id, h);
    }
  }
};

/// The same for scores from vectors, a warp per edge.
template <class Acc, bool Weighs>
__global__ void __launch_bounds__(each_threads)
    write_of_vectors(const AttentionArgs forward, const Result to, bool biased) {
  const int lane = threadIdx.x % 32;
  for (std::int64_t k = first_item() / 32; k < forward.graph.num_edges; k += item_stride() / 32) {
    const std::int64_t row = forward.graph.rows[k], col = forward.graph.cols[k], id = id_of(forward.graph, k);
    for (std::int64_t h = 0; h < forward.heads; ++h) {
      const auto at = [&](const Operand& o, std::int64_t r, std::int64_t f) {
        return load_as<Acc>(o.dtype, o.data, r * o.row_stride + h * o.head_stride + f * o.feature_stride);
      };
      Acc sum = 0;
      for (std::int64_t f = lane; f < forward.score_width; f += 32) {
        const Acc src = at(forward.src, col, f), dst = at(forward.dst, row, f);
        const Acc z = forward.edge.data != nullptr ? src + (dst + at(forward.edge, id, f)) : src + dst;
        sum += forward.score == Score::dot ? src * dst
                                           : at(forward.attn, 0, f) * (z > 0 ? z : z * static_cast<Acc>(forward.slope));
      }
#pragma unroll
      for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
      if (lane != 0) continue;
      Acc score = forward.score == Score::dot ? sum * static_cast<Acc>(forward.scale) : sum;
      if (biased) score += load<Acc>(forward.bias, id, h);
      write<Acc, Weighs>(forward, to, score, row, id, h);
    }
  }
}

template <class Acc>
struct ThroughLeaky {
  AttentionEdgeArgs args;
  __device__ void operator()(std::int64_t k) const {
    const AttentionArgs& forward = args.forward;
    const std::int64_t id = id_of(forward.graph, k);
    for (std::int64_t h = 0; h < forward.heads; ++h) {
      const Acc gradient = load<Acc>(args.score_grad, id, h);
      if (args.bias_grad.data != nullptr)
        store_as(args.bias_grad.dtype, args.bias_grad.data, id * args.bias_grad.row_stride + h, gradient);
      if (forward.score != Score::gat || sum_of<Acc>(forward, k, id, h) > 0) continue;
      store_as(args.score_grad.dtype, args.score_grad.data, id * args.score_grad.row_stride + h,
               gradient * static_cast<Acc>(forward.slope));
    }
  }
};

/// One element of gatv2's gradients of edge vectors.
template <class Acc>
struct TermGradients {
  AttentionTermArgs args;
  std::int64_t width;  // of all heads
  __device__ void operator()(std::int64_t i) const {
    const AttentionArgs& forward = args.forward;
    const std::int64_t k = i / width, c = i - k * width, h = c / forward.score_width, f = c - h * forward.score_width;
    const std::int64_t id = id_of(forward.graph, k);
    const auto at = [&](const Operand& o, std::int64_t r) {
      return load_as<Acc>(o.dtype, o.data, r * o.row_stride + h * o.head_stride + f * o.feature_stride);
    };
    const Acc z =
        at(forward.src, forward.graph.cols[k]) + (at(forward.dst, forward.graph.rows[k]) + at(forward.edge, id));
    const Acc slope = z > 0 ? Acc(1) : static_cast<Acc>(forward.slope);
    store_as(args.edge_grad.dtype, args.edge_grad.data, id * args.edge_grad.row_stride + c,
             load<Acc>(args.score_grad, id, h) * (at(forward.attn, 0) * slope));
  }
};

template <class Acc>
struct DropEdges {
  Result values;
  Dropout dropout;
  std::int64_t heads;
  __device__ void operator()(std::int64_t id) const {
    for (std::int64_t h = 0; h < heads; ++h)
      store_as(values.dtype, values.data, id * values.row_stride + h,
               load<Acc>(values, id, h) * static_cast<Acc>(dropout.factor(id, h)));
  }
};

template <class F>
void with_accumulator(const AttentionArgs& args, F&& f) {
  if (args.value.dtype == Dtype::f64) {
    f(double{});
  } else {
    f(float{});
  }
}

template <bool Weighs>
void write_edges(const AttentionArgs& args, const Result& to, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  const std::int64_t edges = args.graph.num_edges;
  if (edges == 0) return;
  with_accumulator(args, [&](auto acc) {
    using Acc = decltype(acc);
    constexpr const char* doing = Weighs ? "writing attention weights" : "writing attention scores";
    const bool biased = args.bias.given();
    if (args.score == Score::gat) return each(edges, stream, doing, WriteSums<Acc, Weighs>{args, to, biased});
    write_of_vectors<Acc, Weighs><<<blocks_for(edges * 32), each_threads, 0, stream>>>(args, to, biased);
    check_status(cudaGetLastError(), doing);
  });
}

}  // namespace

void attention_weights(const AttentionEdgeArgs& args, Device device, CUstream_st* stream) {
  write_edges<true>(args.forward, args.alpha, device, stream);
}

void attention_scores(const AttentionArgs& args, const Result& scores, Device device, CUstream_st* stream) {
  write_edges<false>(args, scores, device, stream);
}

void attention_drop(const AttentionArgs& args, const Result& values, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  with_accumulator(args, [&](auto acc) {
    each(args.graph.num_edges, stream, "dropping edges", DropEdges<decltype(acc)>{values, args.dropout, args.heads});
  });
}

void attention_through_leaky(const AttentionEdgeArgs& args, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  with_accumulator(args.forward, [&](auto acc) {
    each(args.forward.graph.num_edges, stream, "gradients through leaky_relu", ThroughLeaky<decltype(acc)>{args});
  });
}

void attention_terms(const AttentionTermArgs& args, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  const std::int64_t width = args.forward.heads * args.forward.score_width;
  with_accumulator(args.forward, [&](auto acc) {
    each(args.forward.graph.num_edges * width, stream, "gradients of edge vectors",
         TermGradients<decltype(acc)>{args, width});
  });
}

}  // namespace weft::cuda
