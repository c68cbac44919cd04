// Gradients of max and min on a GPU, gathered as on the CPU: every edge looks up whether it won. For x, tasks are equal
// shares of the transpose's edges; a row that a border cuts leaves its partial sums in staging slots, and a second
// kernel adds them in the order of the tasks.
#include "core/cuda/storage.cuh"
#include "core/loops/cuda/each.cuh"
#include "kernels/cuda/schedule/edge_split.cuh"
#include "kernels/extremum_backward.hpp"
#include "kernels/semantics.hpp"

namespace weft::cuda {
namespace {

__device__ double load(const Operand& o, std::int64_t row, std::int64_t h = 0, std::int64_t f = 0) {
  return load_as<double>(o.dtype, o.data, row * o.row_stride + h * o.head_stride + f * o.feature_stride);
}

/// What one element of the gradient gets from the edge `id` from u to v: the sum over the output's elements it feeds.
struct EdgeGradient {
  ExtremumBackwardArgs args;
  bool row_scaled, col_scaled;
  bool to_edge;

  explicit EdgeGradient(const ExtremumBackwardArgs& a, bool edge)
      : args(a), row_scaled(a.row_scale.given()), col_scaled(a.col_scale.given()), to_edge(edge) {}

  std::int64_t size() const { return args.out_heads * args.out_width; }

  template <semantics::Slope S>
  __device__ double slope(std::int64_t u, EdgeId id, std::int64_t h, std::int64_t f) const {
    return semantics::evaluate<S>(S.left != 0 ? load(args.x, u, h, f) : 1.0,
                                  S.right != 0 ? load(args.edge, id, h, f) : 1.0);
  }
  __device__ double slope(std::int64_t u, EdgeId id, std::int64_t h, std::int64_t f) const {
    return semantics::with_meaning(args.op, [&](auto meaning) {
      using Meaning = decltype(meaning);
      return to_edge ? slope<Meaning::by_right>(u, id, h, f) : slope<Meaning::by_left>(u, id, h, f);
    });
  }

  __device__ double operator()(std::int64_t u, std::int64_t v, EdgeId id, std::int64_t element) const {
    const std::int64_t head = element / args.out_width, feature = element - head * args.out_width;
    const std::int64_t last_head = args.out_heads == 1 ? args.heads : head + 1;
    const std::int64_t last_feature = args.out_width == 1 ? args.width : feature + 1;
    const EdgeId* winners = args.arg_e + v * args.heads * args.width;
    double sum = 0;
    for (std::int64_t h = head; h < last_head; ++h)
      for (std::int64_t f = feature; f < last_feature; ++f) {
        if (winners[h * args.width + f] != id) continue;
        double grad = load(args.out_grad, v, h, f);
        if (row_scaled) grad *= load(args.row_scale, v);
        if (col_scaled) grad *= load(args.col_scale, u);
        sum += grad * slope(u, id, h, f);
      }
    return sum;
  }
  __device__ EdgeId id_of(EdgeId k) const { return args.graph.edge_ids != nullptr ? args.graph.edge_ids[k] : k; }
  __device__ void write(std::int64_t row, std::int64_t element, double value) const {
    store_as(args.out.dtype, args.out.data, row * args.out.row_stride + element, value);
  }
};

/// Every task the same number of edges, which follows from the graph alone: what is added to what is always the same.
struct StagedTasks {
  EdgeSplit split;
  double* staged = nullptr;  // [2 * tasks, elements of a row]

  static StagedTasks take(Arena& arena, const ExtremumBackwardArgs& args) {
    constexpr std::int64_t wanted = 1 << 16, fewest = 32, most = 1024;  // untuned
    StagedTasks tasks;
    EdgeSplit& split = tasks.split;
    split.graph = args.graph;
    split.starts = args.graph.offsets;
    split.size = (args.graph.num_edges + wanted - 1) / wanted;
    split.size = split.size < fewest ? fewest : split.size > most ? most : split.size;
    split.tasks = (args.graph.num_edges + split.size - 1) / split.size;
    const std::int64_t row = args.out_heads * args.out_width;
    tasks.staged = arena.take<double>(static_cast<std::size_t>(2 * split.tasks * row), "parts of cut rows").data();
    return tasks;
  }
};

/// `lanes` threads per task, each with every lanes-th element of a row.
__global__ void __launch_bounds__(each_threads)
    gather_tasks(EdgeGradient gradient, StagedTasks tasks, std::int64_t size, int lanes) {
  const EdgeSplit& split = tasks.split;
  const GraphView& g = split.graph;
  EdgeShare share = EdgeShare::of_task(split, blockIdx.x * std::int64_t{each_threads / lanes} + threadIdx.x / lanes);
  if (share.length == 0) return;
  share.find_rows(split);
  const EdgeId end = share.begin + share.length;
  for (std::int64_t element = threadIdx.x % lanes; element < size; element += lanes) {
    NodeId row = g.rows[share.begin];
    double sum = 0;
    const auto flush = [&](bool runs_on) {
      const bool began_before = row == share.carried;
      if (began_before || runs_on) {
        tasks.staged[(2 * share.task + (began_before ? 0 : 1)) * size + element] = sum;
      } else {
        gradient.write(row, element, sum);
      }
    };
    for (EdgeId k = share.begin; k < end; ++k) {
      const NodeId next = g.rows[k];
      if (next != row) {
        flush(false);
        row = next;
        sum = 0;
      }
      sum += gradient(row, g.cols[k], gradient.id_of(k), element);
    }
    flush(share.runs_on);
  }
}

/// Rows without edges, and rows that task borders cut.
struct FixUpElement {
  EdgeGradient gradient;
  StagedTasks tasks;
  std::int64_t size;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t row = i / size, element = i - row * size;
    const EdgeId* const offsets = tasks.split.graph.offsets + row;
    const EdgeId degree = offsets[1] - offsets[0];
    if (degree == 0) return gradient.write(row, element, 0);
    const CutRow cut = CutRow::of(tasks.split, row, degree);
    if (cut.parts == 0) return;
    double sum = tasks.staged[cut.slot(0) * size + element];
    for (int part = 1; part < cut.parts; ++part) sum += tasks.staged[cut.slot(part) * size + element];
    gradient.write(row, element, sum);
  }
};

struct EdgeElement {
  EdgeGradient gradient;
  std::int64_t size;
  __device__ void operator()(std::int64_t i) const {
    const EdgeId k = i / size, id = gradient.id_of(k);
    const std::int64_t element = i - k * size;
    const GraphView& g = gradient.args.graph;
    gradient.write(id, element, gradient(g.cols != nullptr ? g.cols[k] : 0, g.rows[k], id, element));
  }
};

}  // namespace

std::size_t extremum_workspace(const ExtremumBackwardArgs& args) {
  Arena counting;
  StagedTasks::take(counting, args);
  return counting.used();
}

void extremum_x_gradient(const ExtremumBackwardArgs& args, Device device, Arena arena, CUstream_st* stream) {
  const OnDevice on(device.index);
  const EdgeGradient gradient(args, false);
  const std::int64_t size = gradient.size();
  const StagedTasks tasks = StagedTasks::take(arena, args);
  if (size > 0 && tasks.split.tasks > 0) {
    int lanes = 1;
    while (lanes < each_threads && lanes < size) lanes *= 2;
    const std::int64_t tasks_a_block = each_threads / lanes;
    gather_tasks<<<static_cast<unsigned>((tasks.split.tasks + tasks_a_block - 1) / tasks_a_block), each_threads, 0,
                   stream>>>(gradient, tasks, size, lanes);
    check_status(cudaGetLastError(), "gathering the gradient of a max or min");
  }
  each(args.graph.num_rows * size, stream, "finishing the gradient of a max or min",
       FixUpElement{gradient, tasks, size});
}

void extremum_edge_gradient(const ExtremumBackwardArgs& args, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  const EdgeGradient gradient(args, true);
  each(args.graph.num_edges * gradient.size(), stream, "writing the edge gradient of a max or min",
       EdgeElement{gradient, gradient.size()});
}

}  // namespace weft::cuda
