// Normalisation weights. Sums are taken in double and each weight is rounded once.
#include <atomic>
#include <cfloat>
#include <cmath>

#include "core/dispatch.hpp"
#include "core/memory.hpp"
#include "graph/cuda/edges.hpp"
#include "graph/scan.hpp"
#include "graph/values.hpp"
#include "weft/graph.hpp"

namespace weft {
namespace {

// 0 where a degree is not positive: no neighbour to share with, or weights that cancel out.
double share(double weight, double in, double out) {
  if (!(in > 0 && out > 0)) return 0;
  const double product = in * out;
  // The product of two tiny or two huge weighted degrees may leave the range of a double; the quotient need not.
  if (product < DBL_MIN || product > DBL_MAX) return weight / std::sqrt(in) / std::sqrt(out);
  return weight / std::sqrt(product);
}

// The sum of a row's weights, in stored order whatever the number of threads.
template <class T>
Buffer<double> row_sums(const GraphView& graph, const T* weights, std::int64_t ld) {
  Buffer<double> sums(static_cast<std::size_t>(graph.num_rows), "weighted degrees of a graph");
  parallel_row_ranges(graph.offsets, graph.num_rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      double sum = 0;
      for (EdgeId k = graph.offsets[row]; k < graph.offsets[row + 1]; ++k)
        sum += convert<double>(weights[graph.edge_id(k) * ld]);
      sums[static_cast<std::size_t>(row)] = sum;
    }
  });
  return sums;
}

Buffer<EdgeId> column_counts(const GraphView& graph) {
  Buffer<EdgeId> counts(static_cast<std::size_t>(graph.num_cols), "out-degrees of a graph");
  std::fill(counts.begin(), counts.end(), 0);
  parallel_ranges(default_threads(), graph.num_edges, scan_grain, [&](std::int64_t begin, std::int64_t end) {
    for (EdgeId k = begin; k < end; ++k)
      std::atomic_ref(counts[static_cast<std::size_t>(graph.cols[k])]).fetch_add(1, std::memory_order_relaxed);
  });
  return counts;
}

// weight(row, col, id) of every edge, by id.
template <class Weight>
Tensor edge_weights(const GraphView& graph, Dtype dtype, const Weight& weight) {
  return with_floating(dtype, "the result", [&](auto tag) {
    using T = typename decltype(tag)::type;
    Tensor result = Tensor::empty(Shape(graph.num_edges), dtype, "weights of a graph's edges");
    T* out = result.span<T>().data();
    parallel_runs(graph.offsets, graph.num_rows, graph.num_edges, [&](NodeId row, EdgeId first, EdgeId last) {
      for (EdgeId k = first; k < last; ++k) {
        const EdgeId id = graph.edge_id(k);
        out[id] = convert<T>(weight(row, graph.cols[k], id));
      }
    });
    return result;
  });
}

void check_weight_dtype(Dtype dtype) {
  WEFT_CHECK(is_floating(dtype), invalid_argument, "dtype is {}: expected f32, f16, bf16 or f64", name(dtype));
}

/// The same for a graph on a device, where write(view, out) puts its kernels into the stream.
template <class Write>
Tensor weights_on_device(const Graph& graph, Dtype dtype, CUstream_st* stream, const Write& write) {
  Tensor result = Tensor::empty(Shape(graph.num_edges()), dtype, "weights of a graph's edges", graph.device(), stream);
  write(graph.device(), stream, graph.view(), dtype, result.view().mutable_data());
  return result;
}

}  // namespace

Tensor gcn_weights(const Graph& graph, ConstTensorView values, Dtype dtype, CUstream_st* stream) {
  check_weight_dtype(dtype);
  if (graph.device().kind != DeviceKind::cpu) {
    WEFT_CHECK(!values.given, unsupported,
               "values is given, but the graph is on {}: weighted degrees are computed on the host; copy the graph "
               "with to(Device{{}}) first",
               to_string(graph.device()));
    return weights_on_device(graph, dtype, stream, cuda::write_gcn_weights);
  }
  const GraphView view = graph.host_view();
  if (!values) {
    const Buffer<EdgeId> out = column_counts(view);
    return edge_weights(view, dtype, [&](NodeId row, NodeId col, EdgeId) {
      return share(1.0, static_cast<double>(view.offsets[row + 1] - view.offsets[row]),
                   static_cast<double>(out[static_cast<std::size_t>(col)]));
    });
  }
  check_values(values, "values");
  WEFT_CHECK(values.shape.rows == view.num_edges && values.shape.row_size() == 1, invalid_argument,
             "values has shape {}: expected [{}], one weight for every edge", to_string(values.shape), view.num_edges);
  return with_any_dtype(values.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* weights = values.as<T>();
    const std::int64_t ld = values.ld;
    const EdgeId wrong =
        find_first(view.num_edges, [=](std::int64_t e) { return !std::isfinite(convert<double>(weights[e * ld])); });
    if (wrong < view.num_edges)
      fail(ErrorCode::invalid_argument, "values[{}] is {}: expected a finite weight", wrong,
           convert<double>(weights[wrong * ld]));
    const Graph transpose = graph.transpose();  // a scatter would add in an order that depends on the threads
    const Buffer<double> in = row_sums(view, weights, ld);
    const Buffer<double> out = row_sums(transpose.host_view(), weights, ld);
    return edge_weights(view, dtype, [&](NodeId row, NodeId col, EdgeId id) {
      return share(convert<double>(weights[id * ld]), in[static_cast<std::size_t>(row)],
                   out[static_cast<std::size_t>(col)]);
    });
  });
}

Tensor mean_weights(const Graph& graph, Dtype dtype, CUstream_st* stream) {
  check_weight_dtype(dtype);
  if (graph.device().kind != DeviceKind::cpu) return weights_on_device(graph, dtype, stream, cuda::write_mean_weights);
  const GraphView view = graph.host_view();
  return edge_weights(view, dtype, [&](NodeId row, NodeId, EdgeId) {
    return 1.0 / static_cast<double>(view.offsets[row + 1] - view.offsets[row]);
  });
}

}  // namespace weft
