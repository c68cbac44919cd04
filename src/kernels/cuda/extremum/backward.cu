// Gradients of max and min on a GPU, gathered as on the CPU: every edge looks up whether it won. For x, tasks are equal
// shares of the transpose's edges; a row that a border cuts leaves its parts in staging slots (2t for the row that
// began before task t, 2t + 1 for the one that runs on past it), and a second kernel adds them in the order of the
// tasks.
#include "core/cuda/each.cuh"
#include "core/cuda/storage.cuh"
#include "kernels/extremum_backward.hpp"

namespace weft::cuda {
namespace {

__device__ double load(const Operand& o, std::int64_t row, std::int64_t h = 0, std::int64_t f = 0) {
  return load_as<double>(o.dtype, o.data, row * o.row_stride + h * o.head_stride + f * o.feature_stride);
}

/// What one element of the gradient gets from the edge `id` from u to v: the sum over the output's elements it feeds.
struct PassedOn {
  ExtremumBackwardArgs args;
  bool row_scaled, col_scaled;
  bool to_edge;

  explicit PassedOn(const ExtremumBackwardArgs& a, bool edge)
      : args(a), row_scaled(a.row_scale.given()), col_scaled(a.col_scale.given()), to_edge(edge) {}

  std::int64_t size() const { return args.out_heads * args.out_width; }

  __device__ double slope(std::int64_t u, EdgeId id, std::int64_t h, std::int64_t f) const {
    const bool multiplies = args.op == SpmmOp::u_mul_e, divides = args.op == SpmmOp::u_div_e;
    if (!to_edge) {
      if (!multiplies && !divides) return 1;
      return multiplies ? load(args.edge, id, h, f) : 1 / load(args.edge, id, h, f);
    }
    if (multiplies) return load(args.x, u, h, f);
    if (!divides) return args.op == SpmmOp::u_sub_e ? -1 : 1;
    const double divisor = load(args.edge, id, h, f);
    return -load(args.x, u, h, f) / (divisor * divisor);
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
struct Tasks {
  std::int64_t edges = 1;  // a task
  std::int64_t count = 0;
  double* staged = nullptr;  // [2 * count, elements of a row]

  static Tasks take(Arena& arena, const ExtremumBackwardArgs& args) {
    constexpr std::int64_t wanted = 1 << 16, fewest = 32, most = 1024;  // untuned
    Tasks tasks;
    tasks.edges = (args.graph.num_edges + wanted - 1) / wanted;
    tasks.edges = tasks.edges < fewest ? fewest : tasks.edges > most ? most : tasks.edges;
    tasks.count = (args.graph.num_edges + tasks.edges - 1) / tasks.edges;
    const std::int64_t row = args.out_heads * args.out_width;
    tasks.staged = arena.take<double>(static_cast<std::size_t>(2 * tasks.count * row), "parts of cut rows").data();
    return tasks;
  }
};

/// `lanes` threads a task, each with every lanes-th element of a row.
__global__ void __launch_bounds__(each_threads)
    gather_tasks(PassedOn passed_on, Tasks tasks, std::int64_t size, int lanes) {
  const GraphView& g = passed_on.args.graph;
  const std::int64_t task = blockIdx.x * std::int64_t{each_threads / lanes} + threadIdx.x / lanes;
  if (task >= tasks.count) return;
  const EdgeId begin = task * tasks.edges;
  const EdgeId end = begin + tasks.edges < g.num_edges ? begin + tasks.edges : g.num_edges;
  for (std::int64_t element = threadIdx.x % lanes; element < size; element += lanes) {
    NodeId row = g.rows[begin];
    bool began_before = begin > 0 && g.rows[begin - 1] == row;
    double sum = 0;
    const auto flush = [&](bool runs_on) {
      if (began_before || runs_on) {
        tasks.staged[(2 * task + (began_before ? 0 : 1)) * size + element] = sum;
      } else {
        passed_on.write(row, element, sum);
      }
    };
    for (EdgeId k = begin; k < end; ++k) {
      const NodeId next = g.rows[k];
      if (next != row) {
        flush(false);
        row = next;
        began_before = false;
        sum = 0;
      }
      sum += passed_on(row, g.cols[k], passed_on.id_of(k), element);
    }
    flush(end < g.num_edges && g.rows[end] == row);
  }
}

/// Rows without edges, and rows that task borders cut.
struct FinishElement {
  PassedOn passed_on;
  Tasks tasks;
  std::int64_t size;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t row = i / size, element = i - row * size;
    const EdgeId begin = passed_on.args.graph.offsets[row], end = passed_on.args.graph.offsets[row + 1];
    if (begin == end) return passed_on.write(row, element, 0);
    const std::int64_t first = begin / tasks.edges, last = (end - 1) / tasks.edges;
    if (first == last) return;
    double sum = tasks.staged[(2 * first + 1) * size + element];
    for (std::int64_t task = first + 1; task <= last; ++task) sum += tasks.staged[2 * task * size + element];
    passed_on.write(row, element, sum);
  }
};

struct EdgeElement {
  PassedOn passed_on;
  std::int64_t size;
  __device__ void operator()(std::int64_t i) const {
    const EdgeId k = i / size, id = passed_on.id_of(k);
    const std::int64_t element = i - k * size;
    const GraphView& g = passed_on.args.graph;
    passed_on.write(id, element, passed_on(g.cols != nullptr ? g.cols[k] : 0, g.rows[k], id, element));
  }
};

}  // namespace

std::size_t extremum_workspace(const ExtremumBackwardArgs& args) {
  Arena counting;
  Tasks::take(counting, args);
  return counting.used();
}

void extremum_x_gradient(const ExtremumBackwardArgs& args, Device device, Arena arena, CUstream_st* stream) {
  const OnDevice on(device.index);
  const PassedOn passed_on(args, false);
  const std::int64_t size = passed_on.size();
  const Tasks tasks = Tasks::take(arena, args);
  if (size > 0 && tasks.count > 0) {
    int lanes = 1;
    while (lanes < each_threads && lanes < size) lanes *= 2;
    const std::int64_t tasks_a_block = each_threads / lanes;
    gather_tasks<<<static_cast<unsigned>((tasks.count + tasks_a_block - 1) / tasks_a_block), each_threads, 0, stream>>>(
        passed_on, tasks, size, lanes);
    check_status(cudaGetLastError(), "gathering the gradient of a max or min");
  }
  each(args.graph.num_rows * size, stream, "finishing the gradient of a max or min",
       FinishElement{passed_on, tasks, size});
}

void extremum_edge_gradient(const ExtremumBackwardArgs& args, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  const PassedOn passed_on(args, true);
  each(args.graph.num_edges * passed_on.size(), stream, "writing the edge gradient of a max or min",
       EdgeElement{passed_on, passed_on.size()});
}

}  // namespace weft::cuda
